import type { Catalogue } from '../types/messages.js'

export const nl = {
  'auth.invalid-credentials': 'Ongeldige inloggegevens.',
  'auth.no-credentials-provided': 'De authenticatieheader ontbreekt of is ongeldig.',
  'auth.jwt-invalid': 'Uw authenticatietoken is ongeldig.',
  'auth.logged-out': 'U bent uitgelogd.',
  'auth.jwt-not-valid-yet': 'Uw authenticatietoken is nog niet geldig.',
  'auth.jwt-expired': 'Uw authenticatietoken is verlopen.',
  'auth.api-key-invalid': 'Uw API-sleutel is ongeldig.',
  'auth.api-key-expired': 'Uw API-sleutel is verlopen.',
  'auth.api-key-not-accepted': 'Deze route accepteert geen API-sleutels.',
  'auth.credentials-not-accepted': 'Deze route accepteert deze inloggegevens niet.',
  'auth.overloaded': 'De server is overbelast. Probeer het later opnieuw.',
  'auth.too-many-attempts': 'Te veel mislukte pogingen. Probeer het later opnieuw.',
  'auth.insufficient-authentication': 'Bevestig dat u het bent.',
  'auth.insufficient-scope': 'Uw inloggegevens staan deze actie niet toe.',
  'auth.forbidden': 'U mag dit niet doen.',
  'auth.cross-site': 'Verzoeken van andere websites worden niet geaccepteerd.',
  'auth.token-delivery': 'Tokens in de body zijn alleen voor clients die geen browser zijn.',
  'auth.refresh-invalid': 'Uw sessie is beëindigd. Log opnieuw in.',
  'auth.refresh-reused': 'Uw sessie is voor uw veiligheid beëindigd. Log opnieuw in.',
  'auth.login-expired': 'Uw inlogpoging is verlopen. Probeer het opnieuw.',
  'auth.login-failed': 'Het inloggen is niet gelukt.',
  'auth.link-taken': 'Dit account bij de provider is van een andere gebruiker.',
  'auth.passkey-invalid': 'Deze passkey is niet geaccepteerd. Probeer het opnieuw.',
  'auth.passkey-last':
    'Dit is uw enige manier om in te loggen. Stel eerst een wachtwoord in of voeg een andere passkey toe.',
  'auth.link-invalid': 'Deze link is niet meer geldig. Vraag een nieuwe aan.',
  'auth.password-too-short':
    'Dit wachtwoord is te kort. Gebruik minstens {minPasswordLength} tekens.',
  'auth.password-too-long': 'Dit wachtwoord is te lang.',
  'auth.password-guessable': 'Dit wachtwoord is gemakkelijk te raden. Kies een ander wachtwoord.',
  'auth.current-password': 'Het huidige wachtwoord is onjuist.',
  'auth.too-many-mails': 'Er zijn te veel e-mails aangevraagd. Probeer het later opnieuw.',
  'auth.code-invalid': 'Deze code is onjuist of al gebruikt.',
  'auth.account-exists':
    'Er is al een account met dit adres. Log daarop in en koppel daar de provider.',
  'auth.account-disabled': 'Dit account is geblokkeerd. Neem contact op met de helpdesk.',
  'auth.identity-last':
    'Dit is uw enige manier om in te loggen. Stel eerst een wachtwoord in of voeg een passkey toe.',
  'auth.own-account': 'Voor uw eigen account moet een andere beheerder dit doen.',
  'auth.not-found': 'Dit bestaat niet.',
} satisfies Partial<Catalogue>
