import t from 'tap'
import { StoredCosts } from '../../lib/hashing/costs.js'
import type { UserService } from '../../lib/index.js'

const service = (): UserService => ({ findByUsername: () => null })

function seen(costs: StoredCosts, ...list: number[]): number {
  for (const cost of list) costs.see(cost)
  return costs.usual
}

t.test('the configured cost, until a hash is seen', async (t) => {
  const costs = new StoredCosts(10)
  t.equal(costs.usual, 10)
  t.equal(seen(costs, 12), 12)
})

t.test('the commonest cost counts, not the last one', async (t) => {
  const costs = new StoredCosts(10)
  t.equal(seen(costs, 12, 12, 12), 12)
  t.equal(seen(costs, 4), 12, 'one login of another cost does not shift it')
  t.equal(seen(costs, 4, 4), 4, 'as many do')
  t.equal(seen(costs, 12), 12)
})

t.test('every cost that bcrypt has', async (t) => {
  for (const cost of [4, 31]) t.equal(seen(new StoredCosts(10), cost), cost)
})

t.test('a cost that was raised is learned again, however many old hashes there were', async (t) => {
  const costs = new StoredCosts(10)
  for (let count = 0; count < 5000; count += 1) costs.see(10)
  t.equal(costs.usual, 10)
  let needed = 0
  while (costs.usual === 10 && needed < 2000) {
    costs.see(12)
    needed += 1
  }
  t.equal(costs.usual, 12)
  t.ok(needed < 1000, `after ${needed}`)
  for (let count = 0; count < 70_000; count += 1) costs.see(12)
  t.equal(costs.usual, 12, 'counts do not overflow')
  t.equal(seen(costs, 10), 12)
})

t.test('what was learned belongs to the user service, in all of its uses', async (t) => {
  const [first, second] = [service(), service()]
  const costs = StoredCosts.of(first, 10)
  costs.see(5)
  t.equal(StoredCosts.of(first, 10), costs)
  t.equal(StoredCosts.of(first, 12).usual, 5)
  t.equal(StoredCosts.of(second, 11).usual, 11)
})
