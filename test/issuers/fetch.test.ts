import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { reasonOf } from '../../lib/http/fetch.js'
import { fetchKeySet } from '../../lib/issuers/keys.js'
import {
  discoveryPath,
  keysPath,
  oauthPath,
  startIssuer,
  type TestIssuer,
} from '../helpers/issuer.js'

const failed = /^the connection failed(?: \([A-Z_]+\)|, or the address redirects)$/

/** Why a key set cannot be had. */
const reasonFor = (fetched: Promise<unknown>) => fetched.then(() => 'nothing is wrong', reasonOf)

const reasonAt = (jwksUri: string, signal = AbortSignal.timeout(5_000)): Promise<string> =>
  reasonFor(fetchKeySet({ issuer: 'urn:corp', jwksUri }, signal))

const reasonOfKeys = ({ url }: TestIssuer): Promise<string> => reasonAt(`${url}${keysPath}`)

/** The key set of an issuer, found by discovery. */
const discovered = (issuer: string): Promise<unknown> =>
  fetchKeySet({ issuer, jwksUri: undefined }, AbortSignal.timeout(5_000))

/** A server that speaks no HTTP of its own accord. */
async function rawServer(t: Test, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

t.test('a configured key set is fetched without discovery, credentials or cookies', async (t) => {
  const issuer = await startIssuer(t)
  const address = { issuer: 'urn:corp', jwksUri: `${issuer.url}${keysPath}` }
  const document = await fetchKeySet(address, AbortSignal.timeout(5_000))
  t.strictSame(document, { keys: issuer.published })
  t.strictSame(issuer.asked, [keysPath], 'nothing is discovered')
  const { headers, method } = issuer.requests[0] ?? {}
  t.equal(method, 'GET')
  t.equal(headers?.['accept-encoding'], 'identity')
  t.notOk(headers?.authorization)
  t.notOk(headers?.cookie)
})

t.test('discovery asks OpenID Connect, and only after a 404 RFC 8414', async (t) => {
  const issuer = await startIssuer(t, '/realms/corp')
  const path = `/realms/corp${discoveryPath}`
  await discovered(issuer.url)
  t.strictSame(issuer.asked.splice(0), [path, keysPath])
  issuer.answers.set(path, (response) => response.writeHead(404).end())
  const jwks_uri = `${new URL(issuer.url).origin}${keysPath}`
  issuer.answers.set(`${oauthPath}/realms/corp`, (response) =>
    response.end(JSON.stringify({ issuer: issuer.url, jwks_uri })),
  )
  await discovered(issuer.url)
  t.strictSame(issuer.asked.splice(0), [path, `${oauthPath}/realms/corp`, keysPath])
  for (const status of [200, 204, 302, 400, 403, 410, 500]) {
    issuer.answers.set(path, (response) => response.writeHead(status).end())
    t.not(await reasonFor(discovered(issuer.url)), 'nothing is wrong')
    t.strictSame(issuer.asked.splice(0), [path], `${status}: no second attempt`)
  }
})

t.test('the key set of an https issuer must be on https', async (t) => {
  const issuer = 'https://id.example'
  const { fetch } = globalThis
  t.teardown(() => Object.assign(globalThis, { fetch }))
  const reasonWith = async (jwks_uri: string): Promise<string> => {
    globalThis.fetch = async (url) =>
      Response.json((url as URL).href === jwks_uri ? { keys: [] } : { issuer, jwks_uri })
    return await reasonFor(discovered(issuer))
  }
  t.match(await reasonWith('http://127.0.0.1:9/keys'), /https/)
  t.match(await reasonWith('http://localhost/keys'), /https/)
  t.equal(await reasonWith('https://id.example/keys'), 'nothing is wrong')
})

t.test('metadata of another issuer, or with an invalid jwks_uri, is rejected', async (t) => {
  const issuer = await startIssuer(t)
  const { url } = issuer
  const good = { issuer: url, jwks_uri: `${url}${keysPath}` }
  const rows: [metadata: unknown, reason: RegExp][] = [
    [{ ...good, issuer: `${url}/` }, /another issuer/],
    [{ ...good, issuer: url.toUpperCase() }, /another issuer/],
    [{ ...good, issuer: [url] }, /another issuer/],
    [{ jwks_uri: good.jwks_uri }, /another issuer/],
    [[good], /another issuer/],
    [{ issuer: url }, /no jwks_uri/],
    [{ ...good, jwks_uri: [good.jwks_uri] }, /no jwks_uri/],
    [{ ...good, jwks_uri: 'http://169.254.169.254/keys' }, /not an https address/],
    [{ ...good, jwks_uri: 'file:///etc/passwd' }, /not an https address/],
    [{ ...good, jwks_uri: keysPath }, /not an https address/],
    [{ ...good, jwks_uri: good.jwks_uri.replace('//', '//user:pass@') }, /not an https address/],
    [null, /not an object/],
    ['x', /not an object/],
  ]
  for (const [metadata, reason] of rows) {
    issuer.answers.set(discoveryPath, (response) => response.end(JSON.stringify(metadata)))
    t.match(await reasonFor(discovered(url)), reason, JSON.stringify(metadata))
  }
  t.equal(issuer.fetches(), 0)
  const slashed = { ...good, issuer: `${url}/` }
  issuer.answers.set(discoveryPath, (response) => response.end(JSON.stringify(slashed)))
  t.ok(await discovered(`${url}/`), 'as Auth0 has it')
})

t.test('responses that are not JSON, too long or not a 200 are rejected', async (t) => {
  const issuer = await startIssuer(t)
  const gzip = (response: ServerResponse) => response.setHeader('content-encoding', 'gzip')
  const rows: [string, (response: ServerResponse) => unknown, RegExp][] = [
    ['HTML', (response) => response.end('<h1>Sign in</h1>'), /not JSON/],
    ['nothing', (response) => response.end(), /not JSON/],
    ['a part of a document', (response) => response.end('{"keys": ['), /not JSON/],
    ['deep nesting', (response) => response.end('['.repeat(100_000)), /not JSON/],
    ['a gzip bomb', (response) => gzip(response).end(gzipSync(Buffer.alloc(2 ** 26))), /262144/],
    ['no gzip', (response) => gzip(response).end('{}'), failed],
    ['a byte too many', (response) => response.end(`{}${' '.repeat(262_143)}`), /262144 bytes/],
    ['204', (response) => response.writeHead(204).end(), /status is 204/],
    ['404', (response) => response.writeHead(404).end('{}'), /status is 404/],
    ['500', (response) => response.writeHead(500).end('{}'), /status is 500/],
  ]
  for (const [what, answer, reason] of rows) {
    issuer.answers.set(keysPath, answer)
    t.match(await reasonOfKeys(issuer), reason, what)
  }
  issuer.answers.set(keysPath, (response) =>
    gzip(response).end(gzipSync(`{}${' '.repeat(262_142)}`)),
  )
  t.strictSame(await discovered(issuer.url), {}, 'exactly the limit, although it is compressed')
})

t.test('a redirect is not followed, wherever it leads', async (t) => {
  const [issuer, other] = [await startIssuer(t), await startIssuer(t)]
  const targets = ['http://169.254.169.254/latest/', `${other.url}${keysPath}`, '/elsewhere']
  for (const status of [301, 302, 303, 307, 308]) {
    for (const location of targets) {
      issuer.answers.set(keysPath, (response) => response.writeHead(status, { location }).end())
      t.match(await reasonOfKeys(issuer), /redirects/, `${status} ${location}`)
    }
  }
  t.strictSame(other.asked, [])
  t.notMatch(issuer.asked.join(), 'elsewhere')
})

t.test('a response of a gigabyte is cut off', async (t) => {
  const issuer = await startIssuer(t)
  let sent = 0
  let isClosed: Promise<unknown> | undefined
  issuer.answers.set(keysPath, (response) => {
    isClosed = new Promise((resolve) => response.on('close', resolve))
    const chunk = Buffer.alloc(2 ** 16, 32)
    const more = (): void => {
      while (sent < 2 ** 30 && !response.destroyed && response.write(chunk)) sent += chunk.length
    }
    response.on('drain', more)
    more()
  })
  t.match(await reasonOfKeys(issuer), /more than 262144 bytes/)
  await isClosed
  t.ok(sent < 2 ** 25, `${sent} bytes were sent`)
})

t.test('a silent or slow server is abandoned when the signal aborts', async (t) => {
  const trickle = (start: string, more: string) => (socket: Socket) => {
    socket.write(start)
    const timer = setInterval(() => socket.write(more), 5)
    socket.on('close', () => clearInterval(timer))
  }
  const rows: [string, (socket: Socket) => void][] = [
    ['silence', () => undefined],
    ['headers that never end', trickle('HTTP/1.1 200 OK\r\n', 'x: y\r\n')],
    ['a body that never ends', trickle('HTTP/1.1 200 OK\r\n\r\n{"keys":', ' ')],
  ]
  for (const [what, answer] of rows) {
    const address = await rawServer(t, answer)
    t.match(await reasonAt(address, AbortSignal.timeout(100)), failed, what)
  }
})

t.test('servers that do not speak HTTP or hang up give a reason without their words', async (t) => {
  const answers: [string, string][] = [
    ['nothing', ''],
    ['no HTTP', 'secret words\r\n\r\n'],
    ['half of a body', 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"secret":'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}1'],
    ['long headers', `HTTP/1.1 200 OK\r\nx: ${'secret'.repeat(9_000)}\r\n\r\n{}`],
    ['another protocol', 'HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: secret\r\n\r\n'],
  ]
  for (const [what, answer] of answers) {
    const address = await rawServer(t, (socket) => socket.once('data', () => socket.end(answer)))
    t.match(await reasonAt(address), failed, what)
  }
  const issuer = await startIssuer(t)
  const address = `${issuer.url}${keysPath}`
  t.match(await reasonAt(address.replace('http:', 'https:')), failed, 'https is not http')
  await issuer.kill()
  t.equal(await reasonAt(address), 'the connection failed (ECONNREFUSED)')
})
