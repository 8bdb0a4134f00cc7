//! The code of a stub library that calls a plugin: a look at the stack finds the stub library there.
//!
//! It needs unwind information for its frame (DWARF 5, 6.4, in the form of the Linux Standard Base, `.eh_frame`):
//! without it every stack walk, including those of debuggers, would end here.

/// The name of the symbol.
pub(super) const NAME: &std::ffi::CStr = c"ncz_h5shim_call";

/// Six arguments are in registers, where they stay; the seventh, the function, is the first on the stack.
pub(super) const CODE: [u8; 13] = [
    0x48, 0x83, 0xec, 0x08, // sub $8, %rsp: calls begin at a multiple of 16
    0xff, 0x54, 0x24, 0x10, // call *16(%rsp)
    0x48, 0x83, 0xc4, 0x08, // add $8, %rsp
    0xc3, // ret
];

/// Length of [`frames`].
pub(super) const FRAMES: u64 = HEADER + CIE + FDE + 4;
const HEADER: u64 = 20;
const CIE: u64 = 24;
const FDE: u64 = 24;

/// A distance of four bytes from its own position, and from the start of the header.
const PCREL: u8 = 0x1b;
const DATAREL: u8 = 0x3b;
const UDATA4: u8 = 0x03;

/// Returns the table of frames, after its header (`.eh_frame_hdr`) at address `at`, for code at `code`.
pub(super) fn frames(at: u64, code: u64) -> Vec<u8> {
    let distance = |from: u64, to: u64| (to.wrapping_sub(from) as u32).to_le_bytes();
    let cie = at + HEADER;
    let fde = cie + CIE;
    let mut out = vec![1, PCREL, UDATA4, DATAREL];
    out.extend(distance(at + 4, cie));
    // One function: its code, and its frame description.
    out.extend(1u32.to_le_bytes());
    out.extend(distance(at, code));
    out.extend(distance(at, fde));
    // The state at the start: the frame begins 8 bytes above the stack pointer, with the return address.
    out.extend((CIE as u32 - 4).to_le_bytes());
    out.extend(0u32.to_le_bytes());
    out.extend(b"\x01zR\0");
    out.extend([1, 0x78, 16, 1, PCREL]);
    out.extend([0x0c, 7, 8, 0x90, 1, 0, 0]);
    // After the first instruction 16 bytes, before the last again 8.
    out.extend((FDE as u32 - 4).to_le_bytes());
    out.extend((CIE as u32 + 4).to_le_bytes());
    out.extend(distance(fde + 8, code));
    out.extend((CODE.len() as u32).to_le_bytes());
    out.extend([0, 0x44, 0x0e, 16, 0x48, 0x0e, 8, 0]);
    out.extend(0u32.to_le_bytes());
    out
}
