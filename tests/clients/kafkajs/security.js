// Connection settings from a file, which is described in tests/clients/security.py.

const { readFileSync } = require('node:fs')

const text = file => readFileSync(file, 'utf8')

function readSecurity(file) {
  const given = JSON.parse(text(file))
  const own = given.certificate_file ? { cert: text(given.certificate_file), key: text(given.key_file) } : {}
  const ssl = { ca: [text(given.ca_file)], ...own }
  if (!given.mechanism) {
    return { ssl }
  }
  const mechanism = given.mechanism.toLowerCase()
  if (mechanism === 'oauthbearer') {
    const oauthBearerProvider = async () => ({ value: text(given.token_file) })
    return { ssl, sasl: { mechanism, oauthBearerProvider } }
  }
  return { ssl, sasl: { mechanism, username: given.username, password: given.password } }
}

module.exports = { readSecurity }
