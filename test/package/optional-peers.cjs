// Optional peers are imported: one may be an ES module, which Yarn Plug'n'Play and older versions of Node.js cannot require.
'use strict'

const assert = require('node:assert/strict')
const Module = require('node:module')
const fastify = require('fastify')
const authn = require('fastify-authn')

const peers = new Set(['openid-client', '@node-rs/argon2', '@simplewebauthn/server'])
const { _load: load } = Module
const required = []
Module._load = (name, ...rest) => {
  if (!peers.has(name)) return load(name, ...rest)
  required.push(name)
  throw new Error(`${name} cannot be required`)
}

async function main() {
  const hashing = { algorithm: 'argon2id', memory: 1024, passes: 1 }
  const alice = { name: 'alice', password: await authn.hashPassword('wonderland', hashing) }
  const corp = { issuer: 'http://127.0.0.1:1', clientId: 'x', username: () => null }
  const list = () => []
  const add = () => false
  const app = fastify()
  app.register(authn, {
    userService: { findByUsername: (name) => (name === 'alice' ? alice : null) },
    jwt: { secret: 'Zk3rT9wYb6Nq1xVf8LmC4sHd7JpGa2Eu' },
    hashing,
    sessions: true,
    cookies: true,
    loginWith: { corp },
    login: { subject: (user) => user.name },
    passkeys: { origin: 'https://shop.example', name: 'Shop', list, add, update: add, remove: add },
  })
  const payload = { username: 'alice', password: 'wonderland' }
  const { statusCode } = await app.inject({ method: 'POST', url: '/login', payload })
  assert.equal(statusCode, 200)
  assert.equal((await app.inject('/login/corp')).statusCode, 503, 'the provider is not there')
  const options = await app.inject({ method: 'POST', url: '/login/passkey/options' })
  assert.equal(options.statusCode, 200)
  assert.deepEqual(required, [])
  await app.close()
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
