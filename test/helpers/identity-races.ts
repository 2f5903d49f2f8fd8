import type { Test } from 'tap'

/** The functions of docs/guides/login-with.md, over a database with the tables of that page. */
type Identities = typeof import('../../examples/recipes/identities.js')

const google = 'https://accounts.google.com'

/** Logs in, links and unlinks at the same moment. At the end the tables are empty. */
export async function identityRaces(t: Test, identities: Identities): Promise<void> {
  const { one, userOf, linkIdentity, unlinkIdentity, pool } = identities
  const newUser = async (): Promise<string> =>
    String((await one('insert into users (password) values ($1) returning id', ['x'])).id)
  const counts = (): Promise<unknown> =>
    one('select (select count(*) from users) as users, count(*) as identities from identities', [])

  await t.test('of first logins, all get one user', async (t) => {
    for (let round = 0; round < 20; round += 1) {
      const all = Array.from({ length: 10 }, () => userOf(google, `first ${round}`))
      const ids = new Set(await Promise.all(all))
      t.match([...ids], [/^\d+$/])
      t.equal(ids.size, 1)
      t.ok(ids.has(await userOf(google, `first ${round}`)), 'later too')
    }
    t.match(await counts(), { users: 20, identities: 20 }, 'and no other user is left behind')
  })

  await t.test('an account belongs to one user', async (t) => {
    for (let round = 0; round < 20; round += 1) {
      const subject = `race ${round}`
      const [alice, bob] = [await newUser(), await newUser()]
      const [byAlice, byBob, newcomer] = await Promise.all([
        linkIdentity(google, subject, alice),
        linkIdentity(google, subject, bob),
        userOf(google, subject),
      ])
      const owner = await userOf(google, subject)
      t.equal(newcomer, owner)
      t.strictSame([Boolean(byAlice), Boolean(byBob)], [owner === alice, owner === bob])
      t.ok(await linkIdentity(google, subject, owner), 'again')
    }
  })

  await t.test('one way to log in is left', async (t) => {
    const all = [google, 'https://a.example', 'https://b.example']
    for (let round = 0; round < 20; round += 1) {
      const subject = `way ${round}`
      const id = await userOf(google, subject)
      for (const issuer of all) await linkIdentity(issuer, subject, id)
      const done = await Promise.all(all.map((issuer) => unlinkIdentity(issuer, subject, id)))
      t.equal(done.filter(Boolean).length, 2)
    }
    const id = await newUser()
    await linkIdentity(google, 'with a password', id)
    t.notOk(await unlinkIdentity(google, 'with a password', await newUser()), 'of another user')
    t.ok(await unlinkIdentity(google, 'with a password', id))
    await pool.query('delete from users')
    t.match(await counts(), { users: 0, identities: 0 })
  })
}

/** Makes the pool of the recipe find a server. */
export function pointPool(url: string): void {
  const { hostname, port, username } = new URL(url)
  Object.assign(process.env, { PGHOST: hostname, PGPORT: port, PGUSER: username })
  process.env.PGDATABASE = 'postgres'
}
