// Also holds lib/issuers/limits.ts.
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { FetchError, fetchJson, reasonOf } from '../../lib/issuers/fetch.js'
import { limits } from '../../lib/issuers/limits.js'
import { rejectionOf } from '../helpers/errors.js'
import { keysPath, startIssuer, type TestIssuer } from '../helpers/issuer.js'

/** For what is answered. */
const { signal } = new AbortController()
/** For what never is. */
const soon = (): AbortSignal => AbortSignal.timeout(100)

async function messageOf(issuer: TestIssuer, until = signal): Promise<string> {
  const error = await rejectionOf(fetchJson(new URL(`${issuer.url}${keysPath}`), until))
  return String(error.message)
}

/** A server that speaks no HTTP of its own accord. */
async function rawServer(t: Test, onConnection: (socket: Socket) => void): Promise<URL> {
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
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

t.test('the limits are those of the documents', async (t) => {
  t.strictSame(limits, {
    fetchTime: 5_000,
    bodyBytes: 262_144,
    keys: 100,
    fresh: 600_000,
    stale: 3_600_000,
    unknownKid: 30_000,
    firstPause: 1_000,
    longestPause: 30_000,
    waiting: 1_000,
  })
})

t.test('a document, and what is asked for', async (t) => {
  const issuer = await startIssuer(t)
  const document = await fetchJson(new URL(`${issuer.url}${keysPath}`), signal)
  t.strictSame(document, { keys: issuer.published })
  const { headers, method } = issuer.requests[0] ?? {}
  t.equal(method, 'GET')
  t.equal(headers?.['accept-encoding'], 'identity')
  t.notOk(headers?.authorization)
  t.notOk(headers?.cookie)
})

/** What is refused, and why. */
const bad: [string, (response: ServerResponse) => unknown, string][] = [
  [
    'HTML',
    (response) => response.setHeader('content-type', 'text/html').end('<h1>Sign in</h1>'),
    'the body is not JSON',
  ],
  ['nothing', (response) => response.end(), 'the body is not JSON'],
  ['a part of a document', (response) => response.end('{"keys": ['), 'the body is not JSON'],
  [
    'nested a hundred thousand times',
    (response) => response.end('['.repeat(100_000)),
    'the body is not JSON',
  ],
  [
    'a gzip bomb',
    (response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(2 ** 24))),
    'the body is encoded',
  ],
  [
    'another encoding',
    (response) => response.setHeader('content-encoding', 'br').end('{}'),
    'the body is encoded',
  ],
  [
    'an announced gigabyte',
    (response) => response.setHeader('content-length', 2 ** 30).write('{}'),
    'the body has more than 262144 bytes',
  ],
  [
    'a byte too many',
    (response) => response.end(`{}${' '.repeat(limits.bodyBytes - 1)}`),
    'the body has more than 262144 bytes',
  ],
  ['204', (response) => response.writeHead(204).end(), 'the status is 204, expected 200'],
  ['404', (response) => response.writeHead(404).end('{}'), 'the status is 404, expected 200'],
  ['500', (response) => response.writeHead(500).end('{}'), 'the status is 500, expected 200'],
]

t.test('what is no good answer', async (t) => {
  const issuer = await startIssuer(t)
  for (const [what, answer, message] of bad) {
    issuer.answers.set(keysPath, answer)
    t.equal(await messageOf(issuer), message, what)
  }
  issuer.answers.set(keysPath, (response) =>
    response.setHeader('content-encoding', 'IDENTITY').end(`{}${' '.repeat(limits.bodyBytes - 2)}`),
  )
  t.strictSame(
    await fetchJson(new URL(`${issuer.url}${keysPath}`), signal),
    {},
    'exactly the limit',
  )
})

t.test('a redirect is not followed, wherever it leads', async (t) => {
  const issuer = await startIssuer(t)
  const other = await startIssuer(t)
  const targets = [
    'http://169.254.169.254/latest/meta-data/',
    `${other.url}${keysPath}`,
    '/elsewhere',
    'file:///etc/passwd',
  ]
  for (const status of [301, 302, 303, 307, 308]) {
    for (const location of targets) {
      issuer.answers.set(keysPath, (response) => response.writeHead(status, { location }).end())
      t.equal(await messageOf(issuer), `the status is ${status}, expected 200`)
    }
  }
  t.strictSame(other.asked, [])
  t.notMatch(issuer.asked.join(), 'elsewhere')
})

t.test('a gigabyte that is not announced is cut off', async (t) => {
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
  t.equal(await messageOf(issuer), 'the body has more than 262144 bytes')
  await isClosed
  t.ok(sent < 2 ** 25, `${sent} bytes were sent`)
})

t.test('who is silent, or slow, is left', async (t) => {
  const silent = await rawServer(t, () => undefined)
  const error = await rejectionOf(fetchJson(silent, soon()))
  t.match(error, { message: /^the connection failed \((?:ABORT_ERR|TimeoutError|AbortError)\)$/ })
  const issuer = await startIssuer(t)
  issuer.answers.set(keysPath, (response) => {
    response.write('{"keys":')
    const timer = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(timer))
  })
  t.match(await messageOf(issuer, soon()), /^the connection failed/, 'a body that never ends')
  const headers = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('x: y\r\n'), 5)
    socket.on('close', () => clearInterval(timer))
  })
  t.match(
    await rejectionOf(fetchJson(headers, soon())),
    { message: /^the connection failed/ },
    'headers that never end',
  )
  const over = AbortSignal.abort()
  t.match(await messageOf(issuer, over), /^the connection failed/, 'the time is over before')
})

t.test('who speaks no HTTP, or hangs up', async (t) => {
  const answers: [string, (socket: Socket) => void][] = [
    ['nothing, at once', (socket) => socket.destroy()],
    ['no HTTP', (socket) => socket.end('secret words\r\n\r\n')],
    [
      'half of a body',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"secret":'),
    ],
    [
      'two lengths',
      (socket) =>
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}1'),
    ],
    [
      'headers without end',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'secret'.repeat(9_000)}\r\n\r\n{}`),
    ],
    [
      'another protocol',
      (socket) =>
        socket.end(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: secret\r\n\r\n',
        ),
    ],
  ]
  for (const [what, answer] of answers) {
    const url = await rawServer(t, (socket) => socket.once('data', () => answer(socket)))
    const error = await rejectionOf(fetchJson(url, AbortSignal.timeout(5_000)))
    t.match(
      error.message,
      /^the (?:connection failed \([A-Z_a-z]+\)|protocol is another one)$/,
      what,
    )
    t.notMatch(String(error.message), /secret/, what)
  }
})

t.test('nobody is there, and https is not http', async (t) => {
  const issuer = await startIssuer(t)
  const url = new URL(`${issuer.url}${keysPath}`)
  const tls = new URL(url.href.replace('http:', 'https:'))
  t.match(await rejectionOf(fetchJson(tls, signal)), { message: /^the connection failed \(E/ })
  await issuer.kill()
  t.match(await rejectionOf(fetchJson(url, signal)), {
    message: 'the connection failed (ECONNREFUSED)',
  })
  t.equal(reasonOf(new FetchError('why')), 'why')
  t.equal(reasonOf(new TypeError('secret')), 'something unexpected happened')
})
