"""SASL exchanges of the server: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER. Pure."""

from dray.sasl.credentials import (
    ITERATIONS_DEFAULT,
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    RANDOM_BYTES,
    InvalidCredential,
    ScramCredential,
    ScramMechanism,
    check_credential,
    check_iterations,
    derive,
    from_salted_password,
    mechanism_of,
    printable,
    verify_password,
)
from dray.sasl.events import (
    Accepted,
    Answer,
    Authenticated,
    Challenge,
    Claims,
    Credentials,
    Event,
    InvalidToken,
    NeedClaims,
    NeedCredentials,
    NeedVerification,
    Rejected,
)
from dray.sasl.exchange import MESSAGE_BYTES_MAX, USER_BYTES_MAX, Exchange, ExchangeMisused
from dray.sasl.oauthbearer import OAUTHBEARER, oauthbearer_exchange
from dray.sasl.password_settings import (
    PasswordSetting,
    format_password_settings,
    parse_password_settings,
)
from dray.sasl.plain import PLAIN, plain_exchange
from dray.sasl.scram import scram_exchange
from dray.sasl.unknown_users import UnknownUsers

__all__ = [
    "ITERATIONS_DEFAULT",
    "ITERATIONS_MAX",
    "ITERATIONS_MIN",
    "MESSAGE_BYTES_MAX",
    "OAUTHBEARER",
    "PLAIN",
    "RANDOM_BYTES",
    "USER_BYTES_MAX",
    "Accepted",
    "Answer",
    "Authenticated",
    "Challenge",
    "Claims",
    "Credentials",
    "Event",
    "Exchange",
    "ExchangeMisused",
    "InvalidCredential",
    "InvalidToken",
    "NeedClaims",
    "NeedCredentials",
    "NeedVerification",
    "PasswordSetting",
    "Rejected",
    "ScramCredential",
    "ScramMechanism",
    "UnknownUsers",
    "check_credential",
    "check_iterations",
    "derive",
    "format_password_settings",
    "from_salted_password",
    "mechanism_of",
    "oauthbearer_exchange",
    "parse_password_settings",
    "plain_exchange",
    "printable",
    "scram_exchange",
    "verify_password",
]
