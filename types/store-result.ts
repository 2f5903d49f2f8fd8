/**
 * What a function that stores something returns. It was stored for `true`, a positive number and a row, and it was not for
 * `false`, 0, null, undefined and an empty array. What a driver or an ORM resolves to counts as what it says, such as
 * `{ rowCount: 0 }` and `[{ affectedRows: 1 }]`. What does not say it plainly is an internal error (500).
 */
export type StoreResult =
  | boolean
  | number
  | bigint
  | null
  | undefined
  | (object & {
      /** No promise, whose result would go unchecked. */
      readonly then?: never
      /** No function. */
      readonly bind?: never
    })
