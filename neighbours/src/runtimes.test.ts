// What docs/guides/where-it-runs.md says.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { build } from 'esbuild'
import Fastify from 'fastify'
import authn, { configFromEnv } from 'fastify-authn'
import { createServer as createVite } from 'vite'
import { credentials, users } from './users.js'

const printed =
  '/login 401, /login 200, /me 200, /login/refresh 200, key 200, /logout 204, /me 401\n'
const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { encoding: 'utf8', timeout: 60_000 })

for (const [name, program, ...args] of [
  ['Node', process.execPath],
  ['Bun', 'bun'],
  ['Deno', 'deno', 'run', '-A', '--node-modules-dir=manual'],
] as const) {
  const isThere = spawnSync(program, ['--version']).status === 0
  test(`${name} runs it`, { skip: !isThere && `needs ${name}` }, () => {
    assert.equal(run(program, ...args, 'runtime.js'), printed)
  })
}

test('a bundle of esbuild, with what is loaded only where it is used as external', async (t) => {
  const outfile = '.bundle.mjs'
  t.after(() => rmSync(outfile, { force: true }))
  const options = { bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' } as const
  const external = ['bcrypt', '@node-rs/argon2', 'openid-client', '@simplewebauthn/server']
  const js =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"
  await build({ ...options, entryPoints: ['runtime.js'], outfile, external, banner: { js } })
  assert.equal(run(process.execPath, outfile), printed)
})

async function startApi(t: TestContext) {
  const app = Fastify()
  await app.register(authn, {
    ...configFromEnv(),
    userService: users,
    sessions: true,
    cookies: true,
  })
  app.get('/me', { config: { auth: true } }, ({ user }) => user.name)
  app.post('/notes', { config: { auth: true } }, () => 'stored')
  await app.ready()
  t.after(() => app.close())
  return app
}

async function serve(
  t: TestContext,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const json = { 'content-type': 'application/json' }
const cookieOf = ({ headers }: Response) =>
  headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')

test('one origin: the proxy of Vite, and a page that a server renders', async (t) => {
  const api = await startApi(t)
  const target = await api.listen({ host: '127.0.0.1', port: 0 })
  const vite = await createVite({
    configFile: false,
    logLevel: 'silent',
    server: {
      host: '127.0.0.1',
      port: 0,
      proxy: { '/api': { target, rewrite: (path) => path.slice('/api'.length) } },
    },
  })
  t.after(() => vite.close())
  await vite.listen()
  const origin = `http://127.0.0.1:${(vite.httpServer?.address() as AddressInfo).port}`
  const headers = { ...json, origin, 'sec-fetch-site': 'same-origin' }
  const body = JSON.stringify(credentials)
  const login = await fetch(`${origin}/api/login`, { method: 'POST', headers, body })
  assert.equal(login.status, 200)
  const cookie = cookieOf(login)
  assert.equal(await (await fetch(`${origin}/api/me`, { headers: { cookie } })).text(), 'alice')

  // As the server of the pages asks the API.
  const ask = async (path: string, method: string, given: Record<string, string>) => {
    const response = await fetch(target + path, { method, headers: { cookie, ...given } })
    return response.status
  }
  assert.equal(await ask('/me', 'GET', {}), 200)
  assert.equal(await ask('/notes', 'POST', { 'sec-fetch-site': 'same-origin' }), 200)
  assert.equal(await ask('/notes', 'POST', { 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(
    await ask('/notes', 'POST', {}),
    200,
    'nothing tells that a page of another site asked',
  )
})

test('functions that get the request and the response of Node', async (t) => {
  const api = await startApi(t)
  const url = await serve(t, (request, response) => api.server.emit('request', request, response))
  const body = JSON.stringify(credentials)
  const login = await fetch(`${url}/login`, { method: 'POST', headers: json, body })
  const headers = { cookie: cookieOf(login) }
  assert.equal(await (await fetch(`${url}/me`, { headers })).text(), 'alice')
  assert.equal((await fetch(`${url}/me`)).status, 401)
})
