"""Mutants of the exchanges, each with the attack that finds it."""

from typing import Final

from tests.sasl.mutation import Mutant

EXCHANGE_MUTANTS: Final = (
    Mutant(
        "any password matches",
        "credentials",
        "return hmac.compare_digest(stored_key, credential.stored_key)",
        "return True",
        "plain_wrong_password",
    ),
    Mutant(
        "unknown users have any password",
        "plain",
        "matches = [verify_password(",
        "matches = [user not in stored and not stored or verify_password(",
        "plain_unknown_user",
    ),
    Mutant("the verification is ignored", "plain", "if not matches:", "if False:", "plain_wrong_password"),
    Mutant(
        "PLAIN ignores the authorization id",
        "plain",
        'if authorization_id not in ("", user):',
        "if False:",
        "plain_as_another_user",
    ),
    Mutant(
        "PLAIN ignores a fourth token",
        "plain",
        'tokens = message.decode().split("\\0", _TOKENS)',
        'tokens = message.decode().split("\\0", _TOKENS)[:3]',
        "plain_fourth_token",
    ),
    Mutant("PLAIN accepts empty tokens", "plain", "if not value:", "if False:", "plain_empty_password"),
    Mutant(
        "PLAIN replaces invalid bytes",
        "plain",
        "message.decode()",
        'message.decode(errors="replace")',
        "plain_bytes_that_are_replaced",
    ),
    Mutant(
        "PLAIN stops at the first match",
        "plain",
        "[verify_password(mechanism, password, credential) for mechanism, credential in candidates]",
        "(verify_password(mechanism, password, credential) for mechanism, credential in candidates)",
        "find_out_whether_a_user_exists_by_processor_time",
    ),
    Mutant(
        "PLAIN computes only what the user has",
        "plain",
        "candidates.append((mechanism, credential))",
        "candidates.extend([(mechanism, credential)] if mechanism in stored else [])",
        "find_out_whether_a_user_exists_by_processor_time",
    ),
    Mutant(
        "PLAIN names unknown users",
        "plain",
        '"Authentication failed: Invalid username or password",\n        )\n    # As',
        'f"Authentication failed: {bool(stored)}",\n        )\n    # As',
        "find_out_whether_a_user_exists",
    ),
    Mutant(
        "PLAIN checks the authorization id first",
        "plain",
        "    if not matches:\n",
        '    if authorization_id not in ("", user) and stored:\n'
        '        raise Refused("early", "early")\n'
        "    if not matches:\n",
        "find_out_whether_a_user_exists",
    ),
    Mutant(
        "any proof matches",
        "scram",
        "return hmac.compare_digest(hashed(mechanism, client_key), credential.stored_key)",
        "return True",
        "scram_wrong_password",
    ),
    Mutant(
        "one byte of the proof is compared",
        "scram",
        "return hmac.compare_digest(hashed(mechanism, client_key), credential.stored_key)",
        "return hashed(mechanism, client_key)[:1] == credential.stored_key[:1]",
        "scram_random_proofs",
    ),
    Mutant(
        "the length of the proof is not checked",
        "scram",
        "if len(proof) != mechanism.key_bytes:",
        "if False:",
        "scram_proof_of_another_length",
    ),
    Mutant(
        "unknown users have known keys",
        "unknown_users",
        'stored_key=self._derived(mechanism, b"stored key", user)',
        "stored_key=__import__('hashlib').new(mechanism.hash_name, "
        'keyed_hash(mechanism, b"", b"Client Key")).digest()',
        "scram_keys_without_a_password",
    ),
    Mutant(
        "unknown users have changing salts",
        "unknown_users",
        'self._derived(mechanism, b"salt", user)',
        'self._derived(mechanism, b"%d" % id(object()) + __import__("os").urandom(8), user)',
        "find_out_whether_a_user_exists_by_asking_twice",
    ),
    Mutant(
        "unknown users have other iterations",
        "unknown_users",
        "iterations=self.iterations,",
        "iterations=self.iterations + 1,",
        "find_out_whether_a_user_exists",
    ),
    Mutant(
        "SCRAM rejects unknown users at once",
        "scram",
        "        return made_up\n",
        '        raise Refused("unknown")\n',
        "find_out_whether_a_user_exists",
    ),
    Mutant(
        "SCRAM checks the authorization id after the lookup",
        "scram",
        "    _check_authorization_id(first)\n"
        "    stored: Credentials = yield NeedCredentials(first.user, (mechanism,))\n",
        "    stored: Credentials = yield NeedCredentials(first.user, (mechanism,))\n"
        "    if stored:\n        _check_authorization_id(first)\n",
        "find_out_whether_a_user_exists_by_authorization_id",
    ),
    Mutant(
        "SCRAM ignores the authorization id",
        "scram",
        'if first.authorization_id not in ("", first.user):',
        "if False:",
        "scram_as_another_user",
    ),
    Mutant(
        "delegation tokens are taken for users",
        "scram",
        "    _check_extensions(first)\n    _check",
        "    _check",
        "scram_delegation_token",
    ),
    Mutant(
        "delegation tokens only in lower case",
        "scram",
        'value.lower() == "true"',
        'value == "true"',
        "scram_delegation_token",
    ),
    Mutant(
        "few iterations",
        "credentials",
        "if iterations < ITERATIONS_MIN:",
        "if False:",
        "scram_few_iterations",
    ),
    Mutant(
        "many iterations",
        "credentials",
        "if iterations > ITERATIONS_MAX:",
        "if False:",
        "scram_many_iterations",
    ),
    Mutant(
        "the nonce is not checked", "scram", "if final.nonce != nonce:", "if False:", "scram_own_nonce_only"
    ),
    Mutant(
        "the nonce may begin with more",
        "scram",
        "if final.nonce != nonce:",
        "if not final.nonce.endswith(nonce):",
        "scram_characters_before_the_nonce",
    ),
    Mutant(
        "the nonce may end with more",
        "scram",
        "if final.nonce != nonce:",
        "if not final.nonce.startswith(nonce):",
        "scram_characters_after_the_nonce",
    ),
    Mutant(
        "the server has no nonce",
        "scram",
        "nonce = first.nonce + server_nonce",
        "nonce = first.nonce",
        "scram_replayed_last_message",
    ),
    Mutant(
        "the channel binding is not checked",
        "scram",
        "if final.binding != _base64(first.header.encode()):",
        "if False:",
        "scram_other_channel_binding",
    ),
    Mutant(
        "SCRAM accepts other headers",
        "scram_messages",
        'rf"(?P<header>n,(?:a=',
        'rf"(?P<header>[^,]+,(?:a=',
        "scram_header_with_channel_binding",
    ),
    Mutant(
        "mandatory extensions are ignored",
        "scram_messages",
        'rf"(?P<bare>n=',
        'rf"(?P<bare>(?:m=[^,]+,)?n=',
        "scram_mandatory_extension",
    ),
    Mutant(
        "SCRAM ignores the end of a message",
        "scram_messages",
        "pattern.fullmatch(",
        "pattern.match(",
        "scram_bytes_after_the_message",
    ),
    Mutant(
        "base64 may be spelt otherwise",
        "scram_messages",
        "if base64.b64encode(decoded).decode() != text:",
        "if False:",
        "scram_other_spelling_of_the_proof",
    ),
    Mutant(
        "messages have no limit",
        "exchange",
        "if len(message) > MESSAGE_BYTES_MAX:",
        "if False:",
        "giant_message",
    ),
    Mutant(
        "names have no limit",
        "exchange",
        "if size > USER_BYTES_MAX:",
        "if False:",
        "lookup_of_a_name_that_is_too_long",
    ),
    Mutant(
        "an exchange does not end",
        "exchange",
        "        except Refused as refused:\n",
        "        except Refused as refused:\n"
        "            self._script, self._expects = None, _Expects.FIRST_MESSAGE\n",
        "second_attempt_in_one_exchange",
    ),
    Mutant(
        "OAUTHBEARER ignores the authorization id",
        "oauthbearer",
        'if authorization_id not in ("", claims.principal_name):',
        "if False:",
        "bearer_as_another_user",
    ),
    Mutant(
        "the first token counts", "oauthbearer", "if len(values) != 1:", "if not values:", "bearer_two_tokens"
    ),
    Mutant("any scheme is a bearer", "oauthbearer", "(?i:bearer)", "(?i:[a-z]+)", "bearer_of_another_scheme"),
    Mutant(
        "another token may follow",
        "oauthbearer",
        '        acknowledged = "" if',
        "        if answer != _ACKNOWLEDGED:\n"
        "            return (yield from _script(answer))\n"
        '        acknowledged = "" if',
        "bearer_valid_token_after_an_invalid_one",
    ),
    Mutant(
        "OAUTHBEARER accepts other headers",
        "oauthbearer",
        'rf"n,(?:a=',
        'rf"[ny],(?:a=',
        "bearer_with_channel_binding",
    ),
)
