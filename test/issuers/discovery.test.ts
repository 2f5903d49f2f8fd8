import t from 'tap'
import { fetchKeySet, metadataAddresses } from '../../lib/issuers/discovery.js'
import { rejectionOf } from '../helpers/errors.js'
import { discoveryPath, keysPath, oauthPath, startIssuer } from '../helpers/issuer.js'

const { signal } = new AbortController()

t.test('where the metadata of an issuer is', async (t) => {
  for (const [issuer, openid, oauth] of [
    ['https://a.example', `https://a.example${discoveryPath}`, `https://a.example${oauthPath}`],
    ['https://a.example/', `https://a.example${discoveryPath}`, `https://a.example${oauthPath}`],
    [
      'https://a.example/x/y',
      `https://a.example/x/y${discoveryPath}`,
      `https://a.example${oauthPath}/x/y`,
    ],
    [
      'https://a.example/x/',
      `https://a.example/x${discoveryPath}`,
      `https://a.example${oauthPath}/x`,
    ],
    [
      'https://a.example:1/x//',
      `https://a.example:1/x/${discoveryPath}`,
      `https://a.example:1${oauthPath}/x/`,
    ],
  ] as const) {
    const found = metadataAddresses(issuer)
    t.strictSame([found.openid.href, found.oauth.href], [openid, oauth], issuer)
  }
})

t.test('with an address of the set nothing is discovered', async (t) => {
  const issuer = await startIssuer(t)
  const jwksUri = `${issuer.url}${keysPath}`
  t.strictSame(await fetchKeySet({ issuer: 'urn:corp', jwksUri }, signal), {
    keys: issuer.published,
  })
  t.strictSame(issuer.asked, [keysPath])
})

t.test('OpenID Connect first; after its 404, RFC 8414, with the path at the end', async (t) => {
  const issuer = await startIssuer(t, '/realms/corp')
  const options = { issuer: issuer.url, jwksUri: undefined }
  const path = `/realms/corp${discoveryPath}`
  await fetchKeySet(options, signal)
  t.strictSame(issuer.asked.splice(0), [path, keysPath])
  issuer.answers.set(path, (response) => response.writeHead(404).end())
  const jwks_uri = `${new URL(issuer.url).origin}${keysPath}`
  issuer.answers.set(`${oauthPath}/realms/corp`, (response) =>
    response.end(JSON.stringify({ issuer: issuer.url, jwks_uri })),
  )
  await fetchKeySet(options, signal)
  t.strictSame(issuer.asked.splice(0), [path, `${oauthPath}/realms/corp`, keysPath])
  for (const status of [200, 204, 302, 400, 403, 410, 500]) {
    issuer.answers.set(path, (response) => response.writeHead(status).end())
    t.ok(await rejectionOf(fetchKeySet(options, signal)))
    t.strictSame(issuer.asked.splice(0), [path], `${status}: no second attempt`)
  }
})

t.test('metadata that is not taken', async (t) => {
  const issuer = await startIssuer(t)
  const { url } = issuer
  const good = { issuer: url, jwks_uri: `${url}${keysPath}` }
  const other = 'the metadata is that of another issuer'
  const rows: [unknown, string][] = [
    [{ ...good, issuer: `${url}/` }, other],
    [{ ...good, issuer: url.toUpperCase() }, other],
    [{ ...good, issuer: [url] }, other],
    [{ jwks_uri: good.jwks_uri }, other],
    [{ issuer: url }, 'the metadata names no jwks_uri'],
    [{ ...good, jwks_uri: [good.jwks_uri] }, 'the metadata names no jwks_uri'],
    [{ ...good, jwks_uri: 'http://169.254.169.254/keys' }, 'jwks_uri is no address with https'],
    [{ ...good, jwks_uri: 'http://keys.example/keys' }, 'jwks_uri is no address with https'],
    [{ ...good, jwks_uri: 'file:///etc/passwd' }, 'jwks_uri is no address with https'],
    [{ ...good, jwks_uri: keysPath }, 'jwks_uri is no address with https'],
    [
      { ...good, jwks_uri: good.jwks_uri.replace('//', '//user:pass@') },
      'jwks_uri is no address with https',
    ],
    [null, 'the metadata is no object'],
    ['x', 'the metadata is no object'],
    [[good], other],
  ]
  for (const [metadata, message] of rows) {
    issuer.answers.set(discoveryPath, (response) => response.end(JSON.stringify(metadata)))
    t.match(
      await rejectionOf(fetchKeySet({ issuer: url, jwksUri: undefined }, signal)),
      { message },
      JSON.stringify(metadata),
    )
  }
  t.equal(issuer.fetches(), 0)
})

t.test('an issuer with a closing slash is another one than without', async (t) => {
  const issuer = await startIssuer(t)
  const withSlash = `${issuer.url}/`
  const error = await rejectionOf(fetchKeySet({ issuer: withSlash, jwksUri: undefined }, signal))
  t.match(error, { message: 'the metadata is that of another issuer' })
  issuer.answers.set(discoveryPath, (response) =>
    response.end(JSON.stringify({ issuer: withSlash, jwks_uri: `${issuer.url}${keysPath}` })),
  )
  t.ok(await fetchKeySet({ issuer: withSlash, jwksUri: undefined }, signal), 'as Auth0 has it')
})
