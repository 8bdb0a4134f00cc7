use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority that only configured clients know: it signs the certificates of test servers.
///
/// Clones sign for the same authority. Other clients must not accept such a server.
#[derive(Clone)]
pub struct Authority(Arc<CertifiedIssuer<'static, KeyPair>>);

impl Authority {
    /// Makes an authority.
    ///
    /// # Errors
    ///
    /// If no key can be made.
    pub fn new() -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "ncz test authority");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        Ok(Self(Arc::new(CertifiedIssuer::self_signed(params, key).map_err(io::Error::other)?)))
    }

    /// The certificate of the authority as PEM text: what a client has to trust.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Writes the certificate of the authority to a file (`ca_file`, `AWS_CA_BUNDLE`).
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.pem())
    }

    /// What turns connections into encrypted ones, for 127.0.0.1, localhost and the names in `hosts`.
    pub(crate) fn acceptor(&self, hosts: &[String]) -> io::Result<TlsAcceptor> {
        let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        names.extend_from_slice(hosts);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let params = CertificateParams::new(names).map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.0).map_err(io::Error::other)?;
        let chain = vec![CertificateDer::from(certificate)];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(io::Error::other)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}
