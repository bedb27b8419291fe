import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.sasl.SaslException;
import javax.security.sasl.SaslServer;
import org.apache.kafka.common.security.authenticator.CredentialCache;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslServer;
import org.apache.kafka.common.security.plain.PlainAuthenticateCallback;
import org.apache.kafka.common.security.plain.internals.PlainSaslServer;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.common.security.scram.internals.ScramFormatter;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.scram.internals.ScramSaslServer;
import org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache;

/**
 * The SASL servers of Apache Kafka, one exchange at a time. Requests are lines: "open MECHANISM" (no response), or
 * "send BASE64". Responses are lines too: "challenge BASE64", "accepted BASE64 BASE64-OF-PRINCIPAL", or
 * "failed EXCEPTION BASE64-OF-MESSAGE". Arguments: URL of a key set, issuer, audience, then pairs of user and password.
 */
public final class SaslServers {
    private final Map<String, String> passwords = new HashMap<>();
    private final Map<ScramMechanism, CredentialCache.Cache<ScramCredential>> credentials = new HashMap<>();
    private final OAuthBearerValidatorCallbackHandler tokens = new OAuthBearerValidatorCallbackHandler();

    private SaslServers(String[] arguments) {
        tokens.configure(
            Map.of(
                "sasl.oauthbearer.jwt.validator.class", "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator",
                "sasl.oauthbearer.jwks.endpoint.url", arguments[0],
                "sasl.oauthbearer.expected.issuer", arguments[1],
                "sasl.oauthbearer.expected.audience", List.of(arguments[2]),
                "sasl.oauthbearer.clock.skew.seconds", 30,
                "sasl.oauthbearer.scope.claim.name", "scope",
                "sasl.oauthbearer.sub.claim.name", "sub"),
            "OAUTHBEARER",
            List.of(new AppConfigurationEntry(
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
                AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, Map.of())));
        for (int i = 3; i < arguments.length; i += 2) {
            passwords.put(arguments[i], arguments[i + 1]);
        }
    }

    public static void main(String[] arguments) throws IOException, GeneralSecurityException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        SaslServers servers = new SaslServers(arguments);
        SaslServer server = null;
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            if (line.startsWith("open ")) {
                server = servers.open(line.substring(5));
            } else {
                answers.println(send(server, Base64.getDecoder().decode(line.substring(5))));
            }
        }
    }

    private SaslServer open(String mechanism) throws GeneralSecurityException {
        if (mechanism.equals("PLAIN")) {
            return new PlainSaslServer(this::checkPassword);
        } else if (mechanism.equals("OAUTHBEARER")) {
            return new OAuthBearerSaslServer(tokens);
        }
        ScramMechanism scram = ScramMechanism.forMechanismName(mechanism);
        if (!credentials.containsKey(scram)) {
            credentials.put(scram, derived(scram));
        }
        ScramServerCallbackHandler handler =
            new ScramServerCallbackHandler(credentials.get(scram), new DelegationTokenCache(List.of(mechanism)));
        handler.configure(Map.of(), mechanism, List.of());
        return new ScramSaslServer(scram, Map.of(), handler);
    }

    private CredentialCache.Cache<ScramCredential> derived(ScramMechanism mechanism) throws GeneralSecurityException {
        CredentialCache.Cache<ScramCredential> derived = new CredentialCache.Cache<>(ScramCredential.class);
        for (Map.Entry<String, String> user : passwords.entrySet()) {
            derived.put(user.getKey(), new ScramFormatter(mechanism).generateCredential(user.getValue(), 4096));
        }
        return derived;
    }

    private void checkPassword(Callback[] callbacks) throws UnsupportedCallbackException {
        String user = null;
        for (Callback callback : callbacks) {
            if (callback instanceof NameCallback name) {
                user = name.getDefaultName();
            } else if (callback instanceof PlainAuthenticateCallback plain) {
                plain.authenticated(new String(plain.password()).equals(passwords.get(user)));
            } else {
                throw new UnsupportedCallbackException(callback);
            }
        }
    }

    private static String send(SaslServer server, byte[] message) {
        byte[] answer;
        try {
            answer = server.evaluateResponse(message);
        } catch (SaslException | RuntimeException error) {
            return "failed " + error.getClass().getSimpleName() + " " + encode(String.valueOf(error.getMessage()));
        }
        String bytes = Base64.getEncoder().encodeToString(answer);
        return server.isComplete() ? "accepted " + bytes + " " + encode(server.getAuthorizationID()) : "challenge " + bytes;
    }

    private static String encode(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
