// Tokens are accepted for their own resource only (RFC 8707 §2), and a client that starts from a URL finds its way.
import t, { type Test } from 'tap'
import { authn, type ProtectedResourceMetadata } from '../../lib/index.js'
import { bearer, fastify, type TestApp } from '../helpers/app.js'
import { isRejection, isWelcome, messages, probe, tokenChallenge } from '../helpers/flows.js'
import { audience as other, startIssuer, type TestIssuer } from '../helpers/issuer.js'

const base = 'https://api.example.com'

/** An app with a resource in each of its scopes; all of them accept the tokens of one issuer. */
async function appOf(t: Test, issuer: TestIssuer, resources: Record<string, string>) {
  const app = fastify(t)
  const { audience: _, ...corp } = issuer.options()
  for (const [prefix, resource] of Object.entries(resources)) {
    await app.register(
      async (scope) => {
        await scope.register(authn, { resource, issuers: { corp } })
        scope.get('/', { config: { auth: { use: 'corp', scope: 'read' } } }, probe().handler)
      },
      { prefix },
    )
  }
  await app.ready()
  return app
}

t.test('the audience of an issuer is the identifier, and tokens do not cross', async (t) => {
  const issuer = await startIssuer(t)
  const resources = { '/a': `${base}/a`, '/b': `${base}/b` }
  const app = await appOf(t, issuer, resources)
  const all = Object.entries(resources)
  for (const [prefix, own] of all) {
    const error = messages.jwtInvalid
    const metadata = `${base}/.well-known/oauth-protected-resource${prefix}`
    const invalid = tokenChallenge('The token is invalid')
    const challenge = `${invalid}, scope="read", resource_metadata="${metadata}"`
    const get = (aud: unknown) =>
      app.inject({ url: prefix, headers: bearer(issuer.token({ claims: { aud, scope: 'read' } })) })
    for (const aud of [own, [other, own]]) isWelcome(t, await get(aud), 'alice')
    const foreign = all.flatMap(([, each]) => (each === own ? [] : each))
    const wrong = [...foreign, other, base, `${own}/`, own.toUpperCase(), [], null, undefined]
    for (const aud of wrong) {
      isRejection(t, await get(aud), { error, challenge }, `${prefix}: ${JSON.stringify(aud)}`)
    }
  }
})

t.test('without a path both spellings are audiences', async (t) => {
  const issuer = await startIssuer(t)
  for (const resource of [base, `${base}/`]) {
    const app = await appOf(t, issuer, { '/a': resource })
    const get = async (aud: string) => {
      const token = issuer.token({ claims: { aud, scope: 'read' } })
      return (await app.inject({ url: '/a', headers: bearer(token) })).statusCode
    }
    t.strictSame([await get(base), await get(`${base}/`), await get(`${base}/a`)], [200, 200, 401])
  }
})

/** What a client of RFC 9728 that trusts nobody does: §3.1 and §3.3 from a URL, §5 from a 401. */
function clientOf(app: TestApp) {
  const fetchFor = async (resource: string, url: string) => {
    const { pathname } = new URL(url)
    const response = await app.inject(pathname)
    const type = response.headers['content-type']
    if (response.statusCode !== 200 || type !== 'application/json') return null
    const metadata = response.json<ProtectedResourceMetadata>()
    return metadata.resource === resource ? metadata : null
  }
  return {
    fromUrl(resource: string) {
      const { origin, pathname } = new URL(resource)
      const path = pathname === '/' ? '' : pathname
      return fetchFor(resource, `${origin}/.well-known/oauth-protected-resource${path}`)
    },
    async from401(resource: string, path: string) {
      const { statusCode, headers } = await app.inject(path)
      const [, url] =
        /^Bearer .*resource_metadata="([^"]+)"/.exec(
          [headers['www-authenticate']].flat()[0] ?? '',
        ) ?? []
      // The metadata has to be on the host of the resource, or its holder could be an impostor.
      if (statusCode !== 401 || url === undefined) return null
      if (new URL(url).origin !== new URL(resource).origin) return null
      return fetchFor(resource, url)
    },
  }
}

t.test('a strict client finds the metadata, and rejects those of another resource', async (t) => {
  const issuer = await startIssuer(t)
  const app = await appOf(t, issuer, { '/a': `${base}/a`, '/b': `${base}/b`, '/c': base })
  const { fromUrl, from401 } = clientOf(app)
  for (const [resource, path] of [
    [`${base}/a`, '/a'],
    [`${base}/b`, '/b'],
    [base, '/c'],
  ] as const) {
    const expected = {
      resource,
      authorization_servers: [issuer.url],
      scopes_supported: ['read'],
      bearer_methods_supported: ['header'],
    }
    t.strictSame(await fromUrl(resource), expected)
    t.strictSame(await from401(resource, path), expected)
  }
  t.equal(await from401(`${base}/a`, '/b'), null)
  t.equal(await from401('https://evil.example/a', '/a'), null)
  t.equal(await fromUrl(`${base}/A`), null)
})
