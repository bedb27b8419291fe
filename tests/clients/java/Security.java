import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** Connection settings from a file, which is described in tests/clients/security.py. */
final class Security {
    private static final String PACKAGE = "org.apache.kafka.common.security.";
    private static final String ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

    private Security() {
    }

    static Properties read(Path file) throws IOException {
        JsonNode given = Program.JSON.readTree(file.toFile());
        Properties settings = new Properties();
        settings.setProperty("security.protocol", given.get("mechanism").isNull() ? "SSL" : "SASL_SSL");
        settings.setProperty("ssl.truststore.type", "PEM");
        settings.setProperty("ssl.truststore.certificates", content(given.get("ca_file")));
        if (!given.get("certificate_file").isNull()) {
            settings.setProperty("ssl.keystore.type", "PEM");
            settings.setProperty("ssl.keystore.certificate.chain", content(given.get("certificate_file")));
            settings.setProperty("ssl.keystore.key", content(given.get("key_file")));
        }
        if (!given.get("mechanism").isNull()) {
            logIn(settings, given.get("mechanism").asText(), given);
        }
        return settings;
    }

    private static void logIn(Properties settings, String mechanism, JsonNode given) {
        settings.setProperty("sasl.mechanism", mechanism);
        if (mechanism.equals("OAUTHBEARER")) {
            String url = Path.of(given.get("token_file").asText()).toUri().toString();
            System.setProperty(ALLOWED_URLS, url);
            settings.setProperty("sasl.oauthbearer.token.endpoint.url", url);
            settings.setProperty("sasl.oauthbearer.jwt.retriever.class", PACKAGE + "oauthbearer.FileJwtRetriever");
            settings.setProperty("sasl.login.callback.handler.class",
                    PACKAGE + "oauthbearer.OAuthBearerLoginCallbackHandler");
            settings.setProperty("sasl.jaas.config", PACKAGE + "oauthbearer.OAuthBearerLoginModule required;");
            return;
        }
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        settings.setProperty("sasl.jaas.config", String.format("%s%s required username=\"%s\" password=\"%s\";",
                PACKAGE, module, given.get("username").asText(), given.get("password").asText()));
    }

    private static String content(JsonNode file) throws IOException {
        return Files.readString(Path.of(file.asText()));
    }
}
