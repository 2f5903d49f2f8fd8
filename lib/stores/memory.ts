/** The `open` of a factory whose stores are in memory: makes each once, so that all who open it share its records. */
export function openOnce<Store>(make: () => Store): (name: string) => Store {
  const made = new Map<string, Store>()
  return (name) => {
    const store = made.get(name) ?? make()
    made.set(name, store)
    return store
  }
}
