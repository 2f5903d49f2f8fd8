import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_CROSS_SITE: row(403, 'auth.cross-site', 'The request comes from another site'),
  },
  messages: { 'auth.cross-site': 'Requests from other sites are not accepted.' },
}
