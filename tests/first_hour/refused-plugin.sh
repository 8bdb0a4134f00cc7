#!/usr/bin/env -S bash -eu
# Why a plugin is not used, as in host/docs/src/refused-plugins.md. Commands after "!" must fail.
cd "$(mktemp -d)"
ncz new-codec acme-fp2 --id 32901 --c
(cd acme-fp2 && cc -shared -fPIC -O2 -fvisibility=hidden -I include -o libh5acme_fp2.so acme_fp2.c)
mkdir plugins && cp acme-fp2/libh5acme_fp2.so plugins/

# not on the path
! ncz plugins why acme-fp2 || exit 1
! ncz plugins why plugins/libh5acme_fp2.so || exit 1
export HDF5_PLUGIN_PATH=plugins
ncz plugins why acme-fp2

# writable by others
chmod o+w plugins/libh5acme_fp2.so
! ncz plugins why acme-fp2 || exit 1
chmod o-w plugins/libh5acme_fp2.so

# for another machine
cp plugins/libh5acme_fp2.so plugins/libother.so
printf '\363' | dd of=plugins/libother.so bs=1 seek=18 conv=notrunc status=none
ncz plugins why libother.so | cut -d ';' -f 1
rm plugins/libother.so

# not on the allow-list
ncz plugins lock --output plugins.lock
echo changed >> plugins/libh5acme_fp2.so
ncz plugins why libh5acme_fp2.so --plugin-lock plugins.lock | cut -d : -f 1,2
! ncz plugins lock --output plugins.lock --check || exit 1
