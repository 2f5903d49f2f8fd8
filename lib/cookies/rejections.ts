import { row, type RejectionTable } from '../errors/rejections.js'

export const rejections: RejectionTable = {
  codes: {
    ERR_AUTH_CROSS_SITE: row(403, 'auth.cross-site', 'The request comes from another site'),
    ERR_AUTH_TOKEN_DELIVERY: row(400, 'auth.token-delivery', 'No tokens in the body'),
  },
  messages: {
    'auth.cross-site': 'Requests from other sites are not accepted.',
    'auth.token-delivery': 'Tokens in the body are only for clients that are not browsers.',
  },
}
