import type { Catalogue } from '../types/messages.js'

export const de = {
  'auth.invalid-credentials': 'Ungültige Anmeldedaten.',
  'auth.no-credentials-provided': 'Der Authentifizierungsheader fehlt oder ist ungültig.',
  'auth.jwt-invalid': 'Ihr Authentifizierungstoken ist ungültig.',
  'auth.logged-out': 'Sie wurden abgemeldet.',
  'auth.jwt-not-valid-yet': 'Ihr Authentifizierungstoken ist noch nicht gültig.',
  'auth.jwt-expired': 'Ihr Authentifizierungstoken ist abgelaufen.',
  'auth.api-key-invalid': 'Ihr API-Schlüssel ist ungültig.',
  'auth.api-key-expired': 'Ihr API-Schlüssel ist abgelaufen.',
  'auth.api-key-not-accepted': 'Diese Adresse akzeptiert keine API-Schlüssel.',
  'auth.credentials-not-accepted': 'Diese Adresse akzeptiert diese Zugangsdaten nicht.',
  'auth.overloaded': 'Der Server ist ausgelastet. Bitte versuchen Sie es später erneut.',
  'auth.too-many-attempts':
    'Zu viele fehlgeschlagene Versuche. Bitte versuchen Sie es später erneut.',
  'auth.insufficient-authentication': 'Bitte bestätigen Sie, dass Sie es sind.',
  'auth.insufficient-scope': 'Ihre Anmeldedaten erlauben diese Aktion nicht.',
  'auth.forbidden': 'Sie sind dazu nicht berechtigt.',
  'auth.cross-site': 'Anfragen von anderen Websites werden nicht angenommen.',
  'auth.token-delivery': 'Tokens im Body sind nur für Clients, die keine Browser sind.',
  'auth.refresh-invalid': 'Ihre Sitzung ist beendet. Bitte melden Sie sich erneut an.',
  'auth.refresh-reused':
    'Ihre Sitzung wurde zu Ihrer Sicherheit beendet. Bitte melden Sie sich erneut an.',
  'auth.login-expired': 'Ihre Anmeldung ist abgelaufen. Bitte versuchen Sie es erneut.',
  'auth.login-failed': 'Die Anmeldung war nicht erfolgreich.',
  'auth.link-taken': 'Dieses Konto des Anbieters gehört einem anderen Benutzer.',
  'auth.passkey-invalid': 'Dieser Passkey wurde nicht angenommen. Bitte versuchen Sie es erneut.',
  'auth.passkey-last':
    'Nur so können Sie sich anmelden. Bitte legen Sie zuerst ein Passwort oder einen weiteren Passkey an.',
  'auth.link-invalid': 'Dieser Link ist nicht mehr gültig. Bitte fordern Sie einen neuen an.',
  'auth.password-too-short':
    'Dieses Passwort ist zu kurz. Bitte verwenden Sie mindestens {minPasswordLength} Zeichen.',
  'auth.password-too-long': 'Dieses Passwort ist zu lang.',
  'auth.password-guessable': 'Dieses Passwort ist leicht zu erraten. Bitte wählen Sie ein anderes.',
  'auth.current-password': 'Das aktuelle Passwort ist falsch.',
  'auth.too-many-mails':
    'Es wurden zu viele E-Mails angefordert. Bitte versuchen Sie es später erneut.',
  'auth.code-invalid': 'Dieser Code ist falsch oder wurde schon verwendet.',
  'auth.mail-code-invalid':
    'Dieser Code ist falsch. Er gilt nur dort, wo die E-Mail angefordert wurde.',
  'auth.account-exists':
    'Zu dieser Adresse gibt es ein Konto. Melden Sie sich dort an, und verbinden Sie den Anbieter dann.',
  'auth.account-disabled': 'Dieses Konto ist gesperrt. Bitte wenden Sie sich an den Support.',
  'auth.identity-last':
    'Nur so können Sie sich anmelden. Bitte legen Sie zuerst ein Passwort oder einen Passkey an.',
  'auth.own-account': 'Das muss für Ihr eigenes Konto ein anderer Administrator tun.',
  'auth.not-found': 'Das gibt es nicht.',
} satisfies Partial<Catalogue>
