"""Records of every shape the formats allow."""

from hypothesis import strategies as st

from ctestbed.evidence.csv_certificate import ChipCertificate, RootCertificate, SignatureSlot
from ctestbed.evidence.csv_report import CSVReport

u8 = st.integers(0, 2**8 - 1)
u32 = st.integers(0, 2**32 - 1)
numbers = st.integers(0, 2**256 - 1)
slots = st.builds(SignatureSlot, u32, u32, numbers, numbers)


def raw(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


uids = st.binary(max_size=254)

root_certificates = st.builds(
    RootCertificate,
    version=u32,
    key_id=raw(16),
    signer_id=raw(16),
    usage=u32,
    curve=u32,
    x=numbers,
    y=numbers,
    uid=uids,
    r=numbers,
    s=numbers,
)

chip_certificates = st.builds(
    ChipCertificate,
    version=u32,
    firmware_major=u8,
    firmware_minor=u8,
    usage=u32,
    algorithm=u32,
    curve=u32,
    x=numbers,
    y=numbers,
    uid=uids,
    signer_id=raw(16),
    signature_0=slots,
    signature_1=slots,
)

reports = st.builds(
    CSVReport,
    user_pubkey_digest=raw(32),
    vm_id=raw(16),
    vm_version=raw(16),
    report_data=raw(64),
    mnonce=raw(16),
    measure=raw(32),
    policy=u32,
    signature_usage=u32,
    signature_algorithm=u32,
    anonce=u32,
    r=numbers,
    s=numbers,
    pek=chip_certificates,
    serial=raw(64),
    reserved=raw(32),
    mac=raw(32),
)
