import { busy, type RejectionTable } from '../errors/refusals.js'

export const rejections: RejectionTable = { codes: { ERR_AUTH_ISSUER_UNAVAILABLE: busy } }
