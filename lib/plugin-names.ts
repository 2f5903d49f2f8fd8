/** A property of a plugin, or of the default export of a module that is one. */
export function propertyOfPlugin(plugin: unknown, key: symbol): unknown {
  const { default: inner } = (plugin ?? {}) as { default?: unknown }
  return ((inner ?? plugin ?? {}) as Record<symbol, unknown>)[key]
}

/** The name that a plugin has given to fastify-plugin, if any. */
export function nameOfPlugin(plugin: unknown): unknown {
  const meta = propertyOfPlugin(plugin, Symbol.for('plugin-meta')) as { name?: unknown } | undefined
  return meta?.name
}
