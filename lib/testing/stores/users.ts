import assert from 'node:assert/strict'
import { randomUUID as newId } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { byTurns, odd, storeCasesOf, type Cases, type MakeStore, type StoreCase } from './suite.js'
import type { Passkey } from '../../../types/passkeys.js'
import type { NewUser, UserStore, UserStoreFactory } from '../../../types/users.js'

/** The tests that every store of users has to pass, in the manner of {@link sessionStoreSuite}. */
export function userStoreSuite(make: MakeStore<UserStoreFactory>): readonly StoreCase[] {
  return storeCasesOf(make, cases)
}

const [issuer, old] = ['https://issuer.example', 'https://issuer.example/old']
const identityOf = (subject: string, of = issuer) => ({ provider: 'corp', issuer: of, subject })
const ways = { password: true, passkeys: true, issuers: [issuer] }
const none = { password: null, name: null, roles: [], columns: {} }
const emailOf = (name: string): string => `${name}@example.com`

function newUser(given: Partial<NewUser> = {}): NewUser {
  const id = newId()
  return { id, email: emailOf(id), ...none, ...given }
}

async function kept(store: UserStore, given?: Partial<NewUser>) {
  const row = await store.create(newUser(given), null)
  return row ?? assert.fail('a new user is stored')
}

const passkeyOf = (id: string): Passkey => {
  const about = {
    transports: ['usb'],
    aaguid: 'x',
    backedUp: true,
    name: 'é "\u{1f511}"',
    used: ['0'],
  }
  const at = 1_795_000_000_123_456
  return { id, publicKey: 'pQ', counter: 0, at, created: '2026-01-01', lastUsed: null, ...about }
}

/** How many of the calls have resolved to a value. */
const count = async (calls: readonly Promise<unknown>[], value: unknown): Promise<number> =>
  (await Promise.all(calls)).filter((each) => each === value).length

const cases: Cases<UserStore> = {
  async 'a user is found as it was given, by id, address and identity'(store, other) {
    for (const text of odd.slice(1).map((each) => Array.from(each).slice(0, 50).join(''))) {
      const user = newUser({
        name: text,
        password: text,
        roles: [text || 'x', '{a,"b\\c"}', 'NULL'],
      })
      const subject = `${user.id} ${text}`
      const row = await store.create(user, identityOf(subject))
      const { columns, ...wanted } = { ...user, secondFactor: null, disabledAt: null }
      assert.deepEqual(row, { ...row, ...columns, ...wanted }, text)
      assert.ok(Math.abs(Number(row?.createdAt) - Date.now()) < 600_000, 'createdAt')
      for (const find of [
        other.find(user.id),
        other.findByEmail(String(user.email)),
        other.findByIdentity(issuer, subject),
      ])
        assert.deepEqual(await find, row)
      assert.equal(await store.findByIdentity(old, subject), null)
      assert.equal((await other.identities(user.id))[0]?.subject, subject)
      for (const result of [row, await store.find(user.id)]) {
        ;(Object(result) as { roles: string[] }).roles.splice(0)
        assert.deepEqual((await store.find(user.id))?.roles, user.roles, 'results are copies')
      }
    }
    assert.deepEqual([await store.find(newId()), await store.findByEmail('x')], [null, null])
  },

  async 'an address, an id and an identity belong to one user'(store, other) {
    const { id } = newUser()
    for (const [given, identity] of [
      [{ email: emailOf(id) }, null],
      [{ id }, null],
      [{ email: null }, identityOf(id)],
    ] as const) {
      const calls = byTurns(store, other).map((each) => each.create(newUser(given), identity))
      const rows = (await Promise.all(calls)).filter((row) => row !== null)
      assert.equal(rows.length, 1, 'of all at once, one is stored')
      const next = identityOf(newId())
      assert.equal(await store.create(newUser(given), identity ?? next), null)
      assert.equal(await other.findByIdentity(issuer, next.subject), null, 'and nothing else')
      await other.remove(String(rows[0]?.id))
    }
    const user = newUser({ email: null })
    const calls = byTurns(store, other).map((each, at) =>
      each.create(user, identityOf(`${id} ${at}`)),
    )
    assert.equal(await count(calls, null), calls.length - 1)
    assert.equal((await store.identities(user.id)).length, 1, 'none of a user who was not stored')
    for (const _ of [1, 2]) await kept(store, { email: null })
  },

  async 'a change is stored if what it replaces is still there'(store, other) {
    const [row, taken] = [await kept(store), await kept(other)]
    const { id, email } = row
    assert.equal(await store.swap(id, { password: 'a' }, { password: 'b' }), false)
    assert.equal(await store.swap(id, { password: 'a' }, { password: null }), true)
    assert.equal(await store.swap(id, { secondFactor: 'f' }, { secondFactor: null }), true)
    const move = { email: taken.email, password: 'c' }
    assert.equal(await store.swap(id, move, { email, password: 'a' }), false, 'it is taken')
    for (const other of [newId(), id])
      assert.equal(await store.swap(other, { password: 'z' }, { password: null }), false)
    assert.deepEqual(await other.find(id), { ...row, password: 'a', secondFactor: 'f' })
    const swaps = byTurns(store, other).map((each, at) =>
      each.swap(id, { password: `${at}` }, { password: 'a' }),
    )
    assert.equal(await count(swaps, true), 1)
    const users = await Promise.all([kept(store), kept(store), kept(store)])
    const free = emailOf(newId())
    const moves = users.map((user) => other.swap(user.id, { email: free }, { email: user.email }))
    assert.equal(await count(moves, true), 1)
  },

  async 'a user is changed, disabled and removed'(store, other) {
    const row = await kept(store, { name: 'a', roles: ['x'] })
    const { id } = row
    const [roles, name] = [['y', 'x'], null]
    for (const [change, wanted] of [
      [{ roles }, { roles }],
      [{ name }, { roles, name }],
      [{}, { roles, name }],
    ]) {
      assert.equal(await other.update(id, { ...change, columns: {} }), true)
      assert.deepEqual(await store.find(id), { ...row, ...wanted })
    }
    assert.equal(await store.update(newId(), { name: 'b', columns: {} }), false)
    for (const [to, isChanged] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ] as const)
      assert.equal(await store.setDisabled(id, to), isChanged)
    assert.equal(await store.setDisabled(newId(), true), null)
    await store.setDisabled(id, true)
    assert.ok((await other.findByEmail(String(row.email)))?.disabledAt instanceof Date, 'and found')
    const [identity, passkey] = [identityOf(id), passkeyOf(id)]
    assert.deepEqual(
      [await store.link(id, identity), await store.addPasskey(id, passkey)],
      [true, true],
    )
    assert.deepEqual([await other.remove(id), await store.remove(id)], [true, false])
    assert.deepEqual([await store.find(id), await store.findByIdentity(issuer, id)], [null, null])
    assert.deepEqual([await store.identities(id), await store.passkeys(id)], [[], []])
    assert.deepEqual(
      [await store.link(id, identity), await store.addPasskey(id, passkey)],
      [false, false],
    )
  },

  async 'an identity and a passkey belong to one user and are never moved'(store, other) {
    const password = 'x'
    const [one, two] = [await kept(store, { password }), await kept(store, { password })]
    const passkey = passkeyOf(one.id)
    const identity = identityOf(newId())
    const links = [await store.link(one.id, identity), await other.link(two.id, identity)]
    assert.deepEqual([...links, await other.link(one.id, identity)], [true, false, true])
    assert.equal((await store.findByIdentity(issuer, identity.subject))?.id, one.id)
    assert.equal((await store.identities(one.id)).length, 1)
    assert.equal(await store.unlink(two.id, issuer, identity.subject, ways), 'unknown')
    const added = [await store.addPasskey(one.id, passkey), await other.addPasskey(two.id, passkey)]
    assert.deepEqual(added, [true, false])
    assert.deepEqual([await other.passkeys(one.id), await store.passkeys(two.id)], [[passkey], []])
    for (const none of [two.id, newId()]) {
      assert.equal(await store.swapPasskey(none, { ...passkey, counter: 1 }, passkey), false)
      assert.equal(await store.removePasskey(none, passkey.id, null), 'unknown')
    }
    const swaps = byTurns(store, other).map((each, at) =>
      each.swapPasskey(one.id, { ...passkey, counter: at + 1 }, passkey),
    )
    assert.equal(await count(swaps, true), 1)
    assert.equal(await store.swapPasskey(one.id, { ...passkey, counter: 9 }, passkey), false)
    await store.addPasskey(one.id, passkeyOf(`${one.id} later`))
    const [first, ...others] = await other.passkeys(one.id)
    assert.deepEqual([first?.id, others.length], [passkey.id, 1])
    ;(Object(first) as { used: string[] }).used.splice(0)
    assert.deepEqual((await other.passkeys(one.id))[0]?.used, passkey.used, 'results are copies')
  },

  async 'the last way in is not removed, whatever is removed at once'(store, other) {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await kept(store)
      const keys = [`${id} a`, `${id} b`] as const
      for (const key of keys) await store.addPasskey(id, passkeyOf(key))
      for (const of of [issuer, old]) await store.link(id, identityOf(id, of))
      const removals = [
        store.removePasskey(id, keys[0], ways),
        other.unlink(id, issuer, id, ways),
        other.removePasskey(id, keys[1], ways),
      ]
      assert.equal(await count(removals, 'removed'), 2)
      assert.equal(await count(removals, 'last'), 1)
    }
    const { id } = await kept(store, { password: 'x' })
    for (const of of [issuer, old]) await store.link(id, identityOf(id, of))
    const less = { ...ways, password: false }
    assert.equal(
      await store.unlink(id, issuer, id, less),
      'last',
      'its other provider is not configured',
    )
    await store.link(id, identityOf(`${id} 2`, old))
    assert.equal(await store.unlink(id, old, `${id} 2`, { ...less, issuers: [] }), 'last')
    assert.equal(await store.unlink(id, issuer, id, { ...less, issuers: [old] }), 'removed')
    assert.equal(await store.findByIdentity(issuer, id), null, 'that of the other issuer stays')
    assert.equal(await store.unlink(id, old, `${id} 2`, ways), 'removed')
    assert.equal(await store.unlink(id, old, id, ways), 'removed', 'there is a password')
    await store.link(id, identityOf(id))
    assert.equal(await store.unlink(id, issuer, id, { ...less, issuers: [] }), 'last')
    assert.equal(await store.unlink(id, issuer, id, null), 'removed')
    await store.addPasskey(id, passkeyOf(id))
    assert.equal(await store.removePasskey(id, id, less), 'last')
    assert.equal(await store.removePasskey(id, id, null), 'removed')
  },

  async 'users are listed in pages, the newest first or by address'(one, _, open) {
    const store = await open('', 'suite_two')
    for (const { id } of (await store.list({ limit: 200 })).users) await store.remove(id)
    const emails = ['a_1', 'a%2', 'ab3', 'b4', 'b'].map(emailOf)
    for (const [at, email] of emails.entries()) {
      const { id } = await kept(store, { email, roles: [`${at % 2}`] })
      if (at === 1) await store.setDisabled(id, true)
      assert.equal(await one.find(id), null, 'prefixes are told apart')
      await sleep(5)
    }
    const [a1, a2, ab3, b4, b] = emails
    for (const [filter, wanted] of [
      [{}, emails.toReversed()],
      [{ email: 'a' }, [a2, a1, ab3]],
      [{ email: 'a_' }, [a1]],
      [{ email: 'a%' }, [a2]],
      [{ email: 'b' }, [b4, b]],
      [{ email: 'zz' }, []],
      [{ disabled: true }, [a2]],
      [{ disabled: false, role: '0' }, [b, ab3, a1]],
    ] as const) {
      const found: unknown[] = []
      let after: string | null | undefined
      for (; after !== null && found.length < 9;) {
        const page = await store.list({ limit: 2, ...filter, after })
        assert.ok(page.users.length > 0 || !after, 'there is a next page')
        found.push(...page.users.map(({ email }) => email))
        after = page.next
      }
      assert.deepEqual(found, wanted, JSON.stringify(filter))
    }
    for (const after of ['', 'x', '1; --'])
      await assert.rejects(async () => store.list({ limit: 2, after }), RangeError, after)
  },
}
