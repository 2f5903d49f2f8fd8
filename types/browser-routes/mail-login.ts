// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.

/** The members of the bodies of requests to the routes of the option `mailLogin`. */
export interface MailLoginFields {
  /** The address of a mailbox. */
  email: string
  /** The part after the `#` of the link, or the token of the response to the request for the e-mail. */
  token: string
  /** The six digits of the e-mail, with the token of that response. */
  code?: string
}

/** The `body` of the response to `mailLogin`. */
export interface AskedMail {
  /** With it, the code of the e-mail works. */
  readonly token: string
  /** Seconds for which the e-mail works. */
  readonly expiresIn: number
  /** Two letters, which the e-mail has too. */
  readonly sign: string
}

declare module '../browser.js' {
  interface PostBodies {
    /** Sends an e-mail with a link and a code to log in. */
    'login/mail': Pick<MailLoginFields, 'email'>
    /** Logs in by the link or the code of such an e-mail. */
    'login/mail/finish': Pick<MailLoginFields, 'token' | 'code'>
  }
}
