// What functions that store something may return: an app that returns nothing, or a text, does not compile.
import type {
  AccountsOptions,
  LoginProviderOptions,
  PasskeysOptions,
  SecondFactorOptions,
  StoreResult,
} from 'fastify-authn'

interface Row {
  readonly id: number
  readonly email: string | null
}
declare const rows: Row[]
/** As the types of drivers and ORMs are. */
declare const results: {
  readonly pg: { rowCount: number | null; rows: Record<string, unknown>[] }
  readonly prisma: PromiseLike<{ count: number }> & { readonly [Symbol.toStringTag]: string }
  readonly mysql: [{ affectedRows: number }, undefined[]]
  readonly kysely: { numUpdatedRows: bigint }[]
}

type Update = SecondFactorOptions['update']
export const accepted: Update[] = [
  () => true,
  () => 1,
  () => 1n,
  () => null,
  () => undefined,
  () => rows[0],
  () => rows,
  () => results.pg,
  () => results.prisma,
  () => results.mysql,
  () => results.kysely,
  async () => rows[0],
  async () => results.pg,
  async () => rows.length,
  async () => rows.at(0) ?? null,
]

const noResult = (): void => {}
// @ts-expect-error a function that returns nothing
export const nothing: Update = noResult
// @ts-expect-error a text
export const text: Update = () => 'OK'
// @ts-expect-error a promise of a text
export const laterText: Update = async () => 'OK'
// @ts-expect-error a function
export const inner: Update = () => () => true
// @ts-expect-error a symbol
export const symbol: Update = () => Symbol.iterator
// @ts-expect-error what may be anything
export const unknown: Update = (): unknown => true

const voids = async (): Promise<void> => undefined
export const remove: PasskeysOptions['remove'][] = [voids, () => {}, () => rows, async () => true]
// @ts-expect-error a promise of nothing
export const add: PasskeysOptions['add'] = voids
// @ts-expect-error a promise of nothing
export const change: PasskeysOptions['update'] = voids
// @ts-expect-error a promise of nothing
export const create: AccountsOptions['create'] = voids
// @ts-expect-error a promise of nothing
export const update: AccountsOptions['update'] = voids
// @ts-expect-error a promise of nothing
export const link: LoginProviderOptions['link'] = voids
export const result: StoreResult = results.pg
