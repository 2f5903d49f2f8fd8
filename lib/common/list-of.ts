/** Twenty routes for the end of a message, and how many more there are. */
export function listOf(names: readonly string[], separator = ', '): string {
  const rest = names.length > 20 ? [`and ${names.length - 20} more`] : []
  return [...names.slice(0, 20), ...rest].join(separator)
}
