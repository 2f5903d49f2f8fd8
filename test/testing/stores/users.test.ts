import t from 'tap'
import { userStoreSuite } from '../../../lib/testing/index.js'
import { memoryUsers } from '../../../lib/users-table/index.js'
import { everyFaultIsFound } from '../../helpers/store-faults.js'
import type { UserStore } from '../../../types/users.js'

const found = /as it was given/
const unique = /belong to one user$/
const replaced = /what it replaces/
const changed = /changed, disabled and removed/
const moved = /never moved/
const removals = /last way in/
const pages = /in pages/
const tick = () => new Promise((resolve) => setImmediate(resolve))

/** A store that does what the memory store does, but for these methods; with the name of the case that finds it. */
const faulty: Readonly<
  Record<string, [change: (store: UserStore) => Partial<UserStore>, caseName: RegExp]>
> = {
  'no password is an empty one': [
    (store) => ({ create: (user, identity) => store.create({ ...user, password: '' }, identity) }),
    found,
  ],
  'a pattern': [
    (store) => ({
      list: (page) => store.list({ ...page, email: page.email?.replaceAll('%', '') }),
    }),
    pages,
  ],
  'subjects without spaces': [
    (store) => ({
      findByIdentity: (issuer, subject) => store.findByIdentity(issuer, subject.trim()),
    }),
    found,
  ],
  'subjects of any issuer': [
    (store) => ({
      findByIdentity: async (issuer, subject) =>
        (await store.findByIdentity(issuer, subject)) ??
        store.findByIdentity(`${issuer}/old`, subject),
    }),
    removals,
  ],
  'an identity of a user who was not stored': [
    (store) => ({
      async create(user, identity) {
        const made = await store.create(user, identity)
        if (made === null && identity) await store.link(user.id, identity)
        return made
      },
    }),
    unique,
  ],
  'roles that are sorted': [
    (store) => ({
      update: (id, { roles, ...change }) =>
        store.update(id, { ...change, ...(roles && { roles: roles.toSorted() }) }),
    }),
    changed,
  ],
  'an update deletes what is left out': [
    (store) => ({ update: (id, change) => store.update(id, { name: null, ...change }) }),
    changed,
  ],
  'null is not compared': [
    (store) => ({
      swap: (id, after, before) =>
        store.swap(id, after, Object.fromEntries(Object.entries(before).filter((each) => each[1]))),
    }),
    replaced,
  ],
  'no comparison': [(store) => ({ swap: (id, after) => store.swap(id, after, {}) }), replaced],
  'a comparison, and then a write': [
    (store) => ({
      async swap(id, after, before) {
        const row = await store.find(id)
        const isSame = Object.entries(before).every(([name, value]) => row?.[name] === value)
        await tick()
        return isSame && store.swap(id, after, {})
      },
    }),
    replaced,
  ],
  'disabled twice': [
    (store) => ({ setDisabled: async (id, is) => (await store.setDisabled(id, is)) !== null }),
    changed,
  ],
  'an unknown user is enabled': [
    (store) => ({ setDisabled: async (id, is) => (await store.setDisabled(id, is)) ?? false }),
    changed,
  ],
  'disabled users are not found': [
    (store) => ({
      async findByEmail(email) {
        const row = await store.findByEmail(email)
        return row?.disabledAt ? null : row
      },
    }),
    changed,
  ],
  'passkeys of a deleted user stay': [
    (store) => ({
      async remove(id) {
        const [passkeys, row] = [await store.passkeys(id), await store.find(id)]
        const isDone = await store.remove(id)
        if (row && passkeys.length > 0) await store.create({ ...row, columns: {} }, null)
        for (const passkey of passkeys) await store.addPasskey(id, passkey)
        return isDone
      },
    }),
    changed,
  ],
  'an identity is moved': [
    (store) => ({
      async link(id, identity) {
        const owner = await store.findByIdentity(identity.issuer, identity.subject)
        const ways = { password: true, passkeys: true, issuers: [identity.issuer] }
        if (owner) await store.unlink(owner.id, identity.issuer, identity.subject, ways)
        return store.link(id, identity)
      },
    }),
    moved,
  ],
  'a second link is false': [
    (store) => ({
      link: async (id, identity) =>
        (await store.findByIdentity(identity.issuer, identity.subject)) === null &&
        store.link(id, identity),
    }),
    moved,
  ],
  'the last way in is removed': [
    (store) => ({ removePasskey: (id, passkey) => store.removePasskey(id, passkey, null) }),
    removals,
  ],
  'any issuer is a way in': [
    (store) => ({
      unlink: (id, issuer, subject, ways) =>
        store.unlink(id, issuer, subject, ways && { ...ways, issuers: [...ways.issuers, issuer] }),
    }),
    removals,
  ],
  'a count of ways in, and then a removal': [
    (store) => ({
      async removePasskey(id, passkey, ways) {
        const left = (await store.passkeys(id)).length + (await store.identities(id)).length
        await tick()
        return ways === null || left > 1 ? store.removePasskey(id, passkey, null) : 'last'
      },
    }),
    removals,
  ],
  'a passkey of any user is changed': [
    (store) => ({
      async swapPasskey(id, after, before) {
        const { users } = await store.list({ limit: 200 })
        for (const user of users) if (await store.swapPasskey(user.id, after, before)) return true
        return store.swapPasskey(id, after, before)
      },
    }),
    moved,
  ],
  'a passkey is replaced without a comparison': [
    (store) => ({
      async swapPasskey(id, after, before) {
        const stored = (await store.passkeys(id)).find((each) => each.id === before.id)
        return stored !== undefined && store.swapPasskey(id, after, stored)
      },
    }),
    moved,
  ],
  'the newest passkey first': [
    (store) => ({ passkeys: async (id) => [...(await store.passkeys(id))].toReversed() }),
    moved,
  ],
  'a next page that is empty': [
    (store) => ({
      async list(page) {
        const { users, next } = await store.list(page)
        return { users, next: next ?? (users.length === page.limit ? '0' : null) }
      },
    }),
    pages,
  ],
  'a page that begins with the last user of the one before': [
    (store) => ({
      async list(page) {
        const after = /^\d+$/.test(page.after ?? '') ? String(Number(page.after) + 1) : page.after
        return store.list({ ...page, ...(after && { after }) })
      },
    }),
    pages,
  ],
  'any cursor': [
    (store) => ({
      list: (page) => store.list(page).catch(() => ({ users: [], next: null })),
    }),
    pages,
  ],
  'the oldest first': [
    (store) => ({
      async list(page) {
        const { users, next } = await store.list(page)
        return { users: [...users].toReversed(), next }
      },
    }),
    pages,
  ],
  'two users for an identity': [
    (store) => ({
      async create(user, identity) {
        const owner = identity && (await store.findByIdentity(identity.issuer, identity.subject))
        await tick()
        if (owner) return null
        const made = await store.create(user, null)
        if (made && identity) await store.link(user.id, identity)
        return made
      },
    }),
    unique,
  ],
  'rows that are not copied': [
    (store) => {
      const rows = new Map<string, Awaited<ReturnType<UserStore['find']>>>()
      return {
        async find(id) {
          const row = await store.find(id)
          const kept = rows.get(id)
          if (row === null || kept === undefined || kept === null) rows.set(id, row)
          else Object.assign(kept, { ...row, roles: kept.roles })
          return rows.get(id) ?? null
        },
      }
    },
    found,
  ],
}

t.test('userStoreSuite() finds every fault of a store', async (t) => {
  await everyFaultIsFound(t, faulty, (change) =>
    userStoreSuite((prefix) => {
      const factory = memoryUsers({ prefix })
      const store = { ...factory.open(), ...change(factory.open()) }
      return { ...factory, open: () => store }
    }),
  )
})
