import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import type { AuthMark, UserService } from '../../lib/index.js'
import { appWith, basic, rawLines, passwords, secret, userService, users } from '../helpers/app.js'
import { isQuiet } from '../helpers/attacks.js'
import { listen, nameOf } from '../helpers/flows.js'
import { exchange, rawRequest, vanish, type Answer } from '../helpers/raw-socket.js'

type Subject = Awaited<ReturnType<typeof subjectOf>>

const line = (value: string): string => `Authorization: ${value}`
const pairOf = (name: keyof typeof passwords): string => basic(name, passwords[name]).authorization
const wrongPair = basic('alice', 'wrong').authorization

async function subjectOf(t: Test, hold?: UserService['findByUsername']) {
  const { lines, stream } = rawLines()
  const service = userService()
  const find = service.findByUsername
  // Before a user is found, a test may have something happen.
  if (hold !== undefined) {
    service.findByUsername = async (name, request) => {
      await hold(name, request)
      return find(name, request)
    }
  }
  const runs: string[] = []
  const app = await appWith(
    t,
    { userService: service, jwt: { secret }, throttle: false, hashing: { cost: 4 } },
    (app) => {
      const routes: [url: string, auth: AuthMark][] = [
        ['/alive', true],
        ['/both/required', { use: ['jwt', 'basic'] }],
        ['/both/try', { mode: 'try', use: ['jwt', 'basic'] }],
      ]
      const handler = (request: FastifyRequest): string => {
        runs.push(`${request.url} ${String(nameOf(request))}`)
        return 'in'
      }
      for (const [url, auth] of routes) {
        app.route({ method: ['GET', 'POST'], url, config: { auth: auth as true }, handler })
      }
    },
    { logger: { level: 'debug', stream }, forceCloseConnections: true },
  )
  return {
    app,
    port: await listen(app),
    service,
    lines,
    /** Path and user of the handlers that ran since the last call. */
    take: () => runs.splice(0),
    /** A header line with a token of a user. */
    token: (name: keyof typeof passwords) => line(`Bearer ${app.jwtService.generateToken(name)}`),
  }
}

/** The server still works, and its next client is accepted. */
async function isAlive(t: Test, subject: Subject): Promise<void> {
  const { port, take, token, service } = subject
  take()
  const good = rawRequest('/alive', [token('alice'), 'Connection: close'])
  const { statuses, hung } = await exchange(port, [good])
  // Of requests whose clients have vanished, handlers may still run.
  const ran = take().filter((run) => run.startsWith('/alive'))
  t.same({ statuses, hung, ran }, { statuses: [200], hung: false, ran: ['/alive alice'] }, 'alive')
  service.asked.splice(0)
  isQuiet(t, subject, [
    passwords.alice,
    passwords.bob,
    secret,
    pairOf('alice').slice(6),
    wrongPair.slice(6),
    // The header that every token begins with.
    token('alice').slice(22).split('.', 1)[0] ?? '',
    ...users.map(({ password }) => password),
  ])
}

/** Every response is a 4xx, no handler ran, and nothing hung. */
function isShut(t: Test, { take }: Subject, { statuses, hung }: Answer, title: string): void {
  t.notOk(hung, `${title}: did not hang`)
  const found = statuses.filter((status) => status < 400 || status >= 500)
  t.same(found, [], `${title}: ${statuses.join(', ') || 'closed'}`)
  t.same(take(), [], `${title}: no handler ran`)
}

const close = 'Connection: close'

t.test('credentials in malformed HTTP reach no handler and no user lookup', async (t) => {
  const subject = await subjectOf(t)
  const { port, token } = subject
  // Each value would be accepted, if the HTTP around it were not broken.
  for (const value of [token('alice').slice('Authorization: '.length), pairOf('alice')]) {
    const [scheme = '', credentials = ''] = value.split(' ')
    const heads: [string, string[]][] = [
      ['a space before the colon', [`Authorization : ${value}`]],
      ['a folded line', [`Authorization: ${scheme}`, ` ${credentials}`]],
      ['NUL in the value', [line(`${value}\0`)]],
      ['a bare CR', [line(`${value}\rX: y`)]],
      ['bytes above 127 in the value', [line(`${scheme} \xff${credentials}`)]],
      ['UTF-8 BOM before the value', [line(`\xef\xbb\xbf${value}`)]],
      ['a fullwidth colon', [`Authorization\xef\xbc\x9a ${value}`]],
      ['empty', ['Authorization:']],
    ]
    for (const [title, head] of heads) {
      const answer = await exchange(port, [rawRequest('/both/required', [...head, close])])
      isShut(t, subject, answer, title)
    }
    const chunked = ['Transfer-Encoding: chunked', 'Trailer: Authorization', close]
    const inTrailer = `${rawRequest('/both/required', chunked, 'POST')}0\r\n${line(value)}\r\n\r\n`
    isShut(t, subject, await exchange(port, [inTrailer]), 'in the trailer')
    const inUrl = `http://alice:${passwords.alice}@test/both/required?access_token=${credentials}`
    isShut(t, subject, await exchange(port, [rawRequest(inUrl, [close])]), 'in the URL')
  }
  t.same(subject.service.asked, [], 'no user was looked up')
})

t.test('several Authorization headers get a 401, even if one is right', async (t) => {
  const subject = await subjectOf(t)
  const { port, take, token, service } = subject
  const right = line(pairOf('alice'))
  const shut: [string, string[]][] = [
    ['wrong, right', [line(wrongPair), right]],
    ['empty, right', ['Authorization:', right]],
    ['a bad token, right', [line('Bearer x'), right]],
    ['wrong, a good token', [line(wrongPair), token('alice')]],
    ['the scheme, then the rest', [line('Basic'), line(pairOf('alice').slice(6))]],
    ['wrong, 500 times right', [line(wrongPair), ...Array.from({ length: 100 }, () => right)]],
  ]
  for (const [title, head] of shut) {
    const answer = await exchange(port, [rawRequest('/both/required', [...head, close])])
    isShut(t, subject, answer, title)
    t.equal(answer.responses.length, 1, 'one answer')
  }
  service.asked.splice(0)
  const inLowerCase = `authorization: ${pairOf('alice')}`
  const seconds = [line(wrongPair), line(pairOf('bob')), token('bob'), right, inLowerCase]
  for (const second of seconds) {
    const { statuses } = await exchange(port, [
      rawRequest('/both/required', [right, second, close]),
    ])
    t.same(statuses, [401])
    t.same(take(), [], 'the handler did not run')
    t.same(service.asked.splice(0), [], 'no user was looked up')
  }
  await isAlive(t, subject)
})

const closings = new WeakMap<Socket, Promise<void>>()

/** The end of a connection: one listener, however many requests wait for it. */
async function closed(socket: Socket): Promise<void> {
  if (socket.destroyed) return
  const closing =
    closings.get(socket) ?? new Promise<void>((resolve) => socket.once('close', () => resolve()))
  closings.set(socket, closing)
  await closing
}

t.test('a client that disconnects at any moment leaves the server working', async (t) => {
  const lookUp = { vanishes: false, started: (): void => undefined }
  const subject = await subjectOf(t, async (_, { raw }) => {
    if (!lookUp.vanishes) return null
    lookUp.started()
    await closed(raw.socket)
    return null
  })
  const { port, token } = subject
  const body = JSON.stringify({ username: 'alice', password: passwords.alice })
  const json = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  const login = `${rawRequest('/login', json, 'POST')}${body}`
  const basic = rawRequest('/both/required', [line(pairOf('alice'))])
  const lookUps = [
    rawRequest('/both/required', [token('alice')]),
    basic,
    rawRequest('/both/try', [line(wrongPair)]),
    login,
    basic.repeat(20),
    login.repeat(20),
  ]
  const others = [rawRequest('/both/required', []), basic.slice(0, -3), login.slice(0, -5)]
  const unhandled: unknown[] = []
  const remember = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', remember)
  t.teardown(() => process.off('unhandledRejection', remember))

  lookUp.vanishes = true
  for (const bytes of lookUps) {
    const started = new Promise<void>((resolve) => {
      lookUp.started = resolve
    })
    await vanish(port, bytes, started)
  }
  lookUp.vanishes = false
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([...lookUps, ...others].map((bytes) => vanish(port, bytes)))
  }
  await isAlive(t, subject)
  t.same(unhandled, [], 'no rejection went unhandled')
})
