"""Key pairs of the tests' identity provider, made once for a run: RSA keys take a fraction of a second."""

import warnings
from functools import cache

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jwk


@cache
def rsa_key(kid: str = "rsa") -> jwk.RSAKey:
    return jwk.RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


@cache
def ec_key(kid: str = "ec") -> jwk.ECKey:
    return jwk.ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})


@cache
def weak_key() -> jwk.RSAKey:
    """Return an RSA key of 1024 bits, of which joserfc warns."""
    private = rsa.generate_private_key(65537, 1024)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jwk.RSAKey.import_key(pem, {"kid": "weak", "use": "sig"})
