import { busy, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = { codes: { ERR_AUTH_ISSUER_UNAVAILABLE: busy } }
