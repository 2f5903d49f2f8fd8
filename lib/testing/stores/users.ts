import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { byTurns, odd, storeCasesOf, type Cases, type MakeStore, type StoreCase } from './suite.js'
import type { Passkey } from '../../../types/passkeys.js'
import type { NewUser, UserRow, UserStore, UserStoreFactory, WaysIn } from '../../../types/users.js'

/**
 * The tests that every store of users has to pass, in the manner of {@link sessionStoreSuite}.
 * @param make - makes the factory; see {@link MakeStore}
 * @example
 * for (const { name, run } of userStoreSuite((prefix) => usersOfMyDatabase(url, prefix))) {
 *   test(name, () => run())
 * }
 */
export function userStoreSuite(make: MakeStore<UserStoreFactory>): readonly StoreCase[] {
  return storeCasesOf(make, cases)
}

const issuer = 'https://issuer.example'
const identityOf = (subject: string, of = issuer) => ({ provider: 'corp', issuer: of, subject })
const emailOf = (name: string = randomUUID()): string => `${name}@example.com`
const ways: WaysIn = { password: true, passkeys: true, issuers: [issuer] }

const newUser = (given: Partial<NewUser> = {}): NewUser => {
  const id = randomUUID()
  return { id, email: emailOf(id), password: null, name: null, roles: [], columns: {}, ...given }
}

const passkeyOf = (id: string): Passkey => {
  const times = {
    counter: 0,
    at: 1_795_000_000_123_456,
    created: '2026-01-01T00:00:00.000Z',
    lastUsed: null,
  }
  const about = {
    publicKey: 'pQECAyYgASFY',
    transports: ['internal'],
    aaguid: 'x',
    backedUp: true,
    name: 'é "\u{1f511}"',
  }
  return { id, ...times, ...about, used: ['0'] }
}

/** A name as the plugin accepts it, at most: characters of two units are not cut. */
const cut = (text: string): string => Array.from(text).slice(0, 50).join('')

const created = async (store: UserStore, given?: Partial<NewUser>): Promise<UserRow> => {
  const row = await store.create(newUser(given), null)
  assert.ok(row, 'it is stored')
  return row
}

const count = <T>(results: readonly T[], wanted: T): number =>
  results.filter((each) => each === wanted).length

const cases: Cases<UserStore> = {
  async 'a user is found as it was given, by id, address and identity'(store, other) {
    for (const [at, text] of odd.slice(1).entries()) {
      const [name, subject] = [cut(text), `${at} ${cut(text)}`]
      const user = newUser({
        name,
        roles: [`${at}`, name || 'x', '{a,"b\\c"}', 'NULL'],
        password: text,
      })
      const before = Date.now()
      const row = await store.create(user, identityOf(subject))
      const { columns: _, ...wanted } = user
      assert.deepEqual({ ...row, ...wanted, createdAt: 0 }, { ...row, createdAt: 0 }, text)
      assert.ok(Math.abs(Number(row?.createdAt) - before) < 60_000, 'createdAt')
      assert.deepEqual([row?.secondFactor, row?.disabledAt], [null, null])
      assert.deepEqual(await other.find(user.id), row)
      assert.deepEqual(await other.findByEmail(String(user.email)), row)
      assert.deepEqual(await other.findByIdentity(issuer, subject), row)
      assert.equal(await store.findByIdentity(`${issuer}/`, subject), null)
      const [identity, ...more] = await other.identities(user.id)
      assert.deepEqual(
        [{ ...identity, created: 0 }, more],
        [{ ...identityOf(subject), created: 0 }, []],
      )
    }
    const unknown = randomUUID()
    assert.deepEqual([await store.find(unknown), await store.findByEmail(emailOf())], [null, null])
    assert.deepEqual([await store.identities(unknown), await store.passkeys(unknown)], [[], []])
  },

  async 'an address, an id and an identity belong to one user'(store, other) {
    const { id, email } = newUser()
    for (const [given, identity] of [
      [{ email }, null],
      [{ id }, null],
      [{ email: null }, identityOf(id)],
      [{}, identityOf(id, `${issuer}/2`)],
    ] as const) {
      const calls = byTurns(store, other).map((each) => each.create(newUser(given), identity))
      const rows = (await Promise.all(calls)).filter((row) => row !== null)
      assert.equal(rows.length, 1, 'of all at once, one is stored')
      const [row] = rows
      assert.equal(await store.create(newUser(given), identity), null)
      const withAddress = newUser({ email: row?.email ?? emailOf() })
      const taken = await other.create(withAddress, identityOf(withAddress.id))
      if (row?.email != null) assert.equal(taken, null)
      const found = await store.findByIdentity(issuer, withAddress.id)
      assert.deepEqual(found, taken, 'and nothing else')
      await store.remove(String(row?.id))
      await store.remove(withAddress.id)
    }
    const [none, again] = [
      await created(store, { email: null }),
      await created(store, { email: null }),
    ]
    assert.notEqual(none.id, again.id, 'any number of users have no address')
  },

  async 'what is compared and swapped'(store, other) {
    const row = await created(store)
    const taken = await created(other, { password: 'x' })
    const { id, email } = row
    assert.equal(await store.swap(id, { password: 'a' }, { password: 'b' }), false)
    assert.equal(
      await store.swap(id, { password: 'a' }, { password: null }),
      true,
      'null is compared',
    )
    assert.equal(await store.swap(id, { secondFactor: 'f' }, { secondFactor: null }), true)
    assert.equal(
      await store.swap(id, { email: taken.email, password: 'c' }, { email, password: 'a' }),
      false,
    )
    assert.equal(await store.swap(randomUUID(), { password: 'a' }, { password: null }), false)
    assert.deepEqual(await other.find(id), { ...row, password: 'a', secondFactor: 'f' })
    const next = emailOf()
    assert.equal(
      await other.swap(id, { email: next, password: 'a' }, { email, password: 'a' }),
      true,
    )
    assert.equal((await store.findByEmail(next))?.id, id)
    const swaps = byTurns(store, other).map((each, at) =>
      each.swap(id, { password: `${at}` }, { password: 'a' }),
    )
    assert.equal(count(await Promise.all(swaps), true), 1, 'of all at once, one')
    const email2 = emailOf()
    const users = await Promise.all([created(store), created(store), created(store)])
    const moves = users.map(({ id: each, email: old }) =>
      other.swap(each, { email: email2 }, { email: old }),
    )
    assert.equal(count(await Promise.all(moves), true), 1, 'an address that three take at once')
  },

  async 'a user is changed, disabled and removed'(store, other) {
    const row = await created(store, { name: 'a', roles: ['x'] })
    const { id } = row
    assert.equal(await other.update(id, { roles: [], columns: {} }), true)
    assert.equal(await store.update(id, { name: null, columns: {} }), true)
    assert.equal(await store.update(id, { columns: {} }), true)
    assert.equal(await store.update(randomUUID(), { name: 'b', columns: {} }), false)
    assert.deepEqual(await other.find(id), { ...row, name: null, roles: [] })
    const steps = [true, true, false, false]
    const done = []
    for (const isDisabled of steps) done.push(await store.setDisabled(id, isDisabled))
    assert.deepEqual(done, [true, false, true, false])
    assert.equal(await store.setDisabled(randomUUID(), true), null)
    await store.setDisabled(id, true)
    assert.ok((await other.find(id))?.disabledAt instanceof Date)
    await store.link(id, identityOf(id))
    await store.addPasskey(id, passkeyOf(id))
    assert.deepEqual([await other.remove(id), await store.remove(id)], [true, false])
    assert.deepEqual([await store.find(id), await store.findByIdentity(issuer, id)], [null, null])
    assert.deepEqual([await store.identities(id), await store.passkeys(id)], [[], []])
    assert.equal(await store.addPasskey(id, passkeyOf(id)), false, 'the user is gone')
    assert.equal(await store.link(id, identityOf(id)), false)
  },

  async 'an identity and a passkey belong to one user and are never moved'(store, other) {
    const [one, two] = [await created(store), await created(store)]
    const passkey = passkeyOf(one.id)
    const links = await Promise.all([
      store.link(one.id, identityOf('1')),
      other.link(two.id, identityOf('1')),
    ])
    assert.equal(count(links, true), 1)
    const [owner, loser] = links[0] ? [one, two] : [two, one]
    assert.equal(await other.link(owner.id, identityOf('1')), true, 'again')
    assert.equal((await store.identities(owner.id)).length, 1)
    assert.equal(await store.unlink(loser.id, issuer, '1', ways), 'unknown')
    assert.equal(await store.addPasskey(one.id, passkey), true)
    assert.equal(await other.addPasskey(two.id, passkey), false)
    assert.deepEqual(await other.passkeys(one.id), [passkey])
    assert.deepEqual(await other.passkeys(two.id), [])
    const after = { ...passkey, counter: 1, lastUsed: '2026-01-02T00:00:00.000Z' }
    assert.equal(await store.swapPasskey(two.id, after, passkey), false)
    const swaps = byTurns(store, other).map((each, at) =>
      each.swapPasskey(one.id, { ...after, counter: at + 1 }, passkey),
    )
    assert.equal(count(await Promise.all(swaps), true), 1)
    assert.equal(await store.removePasskey(two.id, passkey.id, null), 'unknown')
    assert.equal(await store.removePasskey(one.id, passkey.id, null), 'removed')
  },

  async 'the last way in is not removed, whatever is removed at once'(store, other) {
    const old = 'https://old.example'
    for (let round = 0; round < 10; round += 1) {
      const { id } = await created(store)
      const keys = ['a', 'b'].map((key) => `${id} ${key}`)
      for (const key of keys) await store.addPasskey(id, passkeyOf(key))
      for (const of of [issuer, old]) await store.link(id, identityOf(id, of))
      const all = [
        store.removePasskey(id, `${keys[0]}`, ways),
        other.unlink(id, issuer, id, ways),
        other.removePasskey(id, `${keys[1]}`, ways),
      ]
      const results = await Promise.all(all)
      assert.deepEqual([count(results, 'removed'), count(results, 'last')], [2, 1], results.join())
    }
    const { id } = await created(store, { password: 'x' })
    for (const of of [issuer, old]) await store.link(id, identityOf(id, of))
    const without = { ...ways, password: false }
    assert.equal(await store.unlink(id, issuer, id, without), 'last', 'that of old is none')
    assert.equal(
      await store.unlink(id, issuer, id, { ...without, issuers: [issuer, old] }),
      'removed',
    )
    assert.equal(await store.unlink(id, old, id, ways), 'removed', 'a password is left')
    assert.equal(await store.unlink(id, old, id, ways), 'unknown')
    await store.addPasskey(id, passkeyOf(id))
    assert.equal(await store.removePasskey(id, id, without), 'last')
    assert.equal(await store.removePasskey(id, id, null), 'removed')
  },

  async 'users are listed in pages, the newest first or by address'(_, __, open) {
    const store = await open(randomUUID(), 'suite_two')
    for (const { id } of (await store.list({ limit: 200 })).users) await store.remove(id)
    const emails = ['a_1', 'a%2', 'ab3', 'b4', 'b'].map((name) => emailOf(name))
    const rows = []
    for (const [at, email] of emails.entries()) {
      rows.push(await created(store, { email, roles: [`${at % 2}`] }))
      await sleep(5)
    }
    await store.setDisabled(String(rows[1]?.id), true)
    const all = async (filter: object): Promise<unknown> => {
      const found: (string | null)[] = []
      for (let after: string | undefined; found.length < 20;) {
        const page = await store.list({ limit: 2, ...filter, after })
        found.push(...page.users.map(({ email }) => email))
        if (page.next === null) return found
        assert.equal(page.users.length, 2, 'a page is full if there is another one')
        after = page.next
      }
      return 'there is no end'
    }
    const [a1, a2, ab3, , b] = emails
    assert.deepEqual(await all({}), emails.toReversed())
    assert.deepEqual(await all({ email: 'a' }), [a2, a1, ab3])
    assert.deepEqual(await all({ email: 'a_' }), [a1])
    assert.deepEqual(await all({ email: 'a%' }), [a2])
    assert.deepEqual(await all({ email: 'b@' }), [b])
    assert.deepEqual(await all({ email: 'zz' }), [])
    assert.deepEqual(await all({ disabled: true }), [a2])
    assert.deepEqual(await all({ disabled: false, role: '0' }), [b, ab3, a1])
    assert.deepEqual(await all({ disabled: true, email: 'a' }), [a2])
    for (const after of ['', 'x', '1; --', '2026-01-01T00:00:00.000000Z.x'])
      await assert.rejects(async () => store.list({ limit: 2, after }), RangeError, after)
  },

  async 'what is returned can be changed, and prefixes are told apart'(store, _, open) {
    const row = await created(store, { roles: ['x'] })
    const other = await open(randomUUID(), 'suite_two')
    assert.deepEqual(
      [await other.find(row.id), await other.findByEmail(String(row.email))],
      [null, null],
    )
    ;(row.roles as string[]).push('admin')
    assert.deepEqual((await store.find(row.id))?.roles, ['x'])
  },
}
