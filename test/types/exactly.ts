type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** `exactly<Expected>()(value)` compiles only when the value has this very type, not a wider or narrower one. */
export function exactly<Expected>() {
  return <Actual>(
    _value: Actual,
    ..._different: Same<Actual, Expected> extends true ? [] : [never]
  ): void => undefined
}
