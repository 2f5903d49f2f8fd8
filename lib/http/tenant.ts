/** Where an issuer has the id of a tenant. */
const place = '{tenantid}'

/** In lower case, as tokens have it: in another spelling, a tenant would have two names. */
const guid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

export const hasTenants = (issuer: string): boolean => issuer.includes(place)

/** @returns null for what is no id of a tenant */
export function issuerOf(template: string, tid: unknown): string | null {
  return typeof tid === 'string' && guid.test(tid) ? template.split(place).join(tid) : null
}

/** Whether an issuer is that of the options, or of a tenant where those have the place of one. */
export function isIssuerOf(template: string, issuer: string): boolean {
  const at = template.indexOf(place)
  const own = at < 0 ? template : issuerOf(template, issuer.slice(at, at + 36))
  return issuer === own
}
