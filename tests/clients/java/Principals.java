import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Base64;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Principals of certificates as Kafka's brokers see them. A line of input is a certificate in base64, a tab, and
 * mapping rules; a line of output is the name that the rules give, or !none, or !invalid.
 */
public final class Principals {
    private Principals() {
    }

    public static void main(String[] none) throws IOException, CertificateException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            int tab = line.indexOf('\t');
            byte[] certificate = Base64.getDecoder().decode(line.substring(0, tab));
            X509Certificate read = (X509Certificate) factory.generateCertificate(new ByteArrayInputStream(certificate));
            answers.println(mapped(read.getSubjectX500Principal().getName(), line.substring(tab + 1)));
        }
    }

    private static String mapped(String subject, String rules) throws IOException {
        SslPrincipalMapper mapper;
        try {
            mapper = SslPrincipalMapper.fromRules(rules);
        } catch (IllegalArgumentException invalid) {
            return "!invalid";
        }
        try {
            return mapper.getName(subject);
        } catch (SslPrincipalMapper.NoMatchingRule none) {
            return "!none";
        }
    }
}
