import type { Catalogue } from '../types/messages.js'

export const sv = {
  'auth.invalid-credentials': 'Felaktiga inloggningsuppgifter.',
  'auth.no-credentials-provided': 'Autentiseringshuvudet saknas eller är ogiltigt.',
  'auth.jwt-invalid': 'Din autentiseringstoken är ogiltig.',
  'auth.logged-out': 'Du har loggats ut.',
  'auth.jwt-not-valid-yet': 'Din autentiseringstoken är ännu inte giltig.',
  'auth.jwt-expired': 'Din autentiseringstoken har gått ut.',
  'auth.api-key-invalid': 'Din API-nyckel är ogiltig.',
  'auth.api-key-expired': 'Din API-nyckel har gått ut.',
  'auth.api-key-not-accepted': 'Den här adressen accepterar inte API-nycklar.',
  'auth.credentials-not-accepted': 'Den här adressen accepterar inte dessa inloggningsuppgifter.',
  'auth.overloaded': 'Servern är överbelastad. Försök igen senare.',
  'auth.too-many-attempts': 'För många misslyckade försök. Försök igen senare.',
  'auth.insufficient-authentication': 'Bekräfta att det är du.',
  'auth.insufficient-scope': 'Dina inloggningsuppgifter tillåter inte den här åtgärden.',
  'auth.forbidden': 'Du har inte behörighet att göra detta.',
  'auth.cross-site': 'Förfrågningar från andra webbplatser godtas inte.',
  'auth.refresh-invalid': 'Din session är slut. Logga in igen.',
  'auth.refresh-reused': 'Din session avslutades av säkerhetsskäl. Logga in igen.',
  'auth.account-exists':
    'Det finns ett konto med den här adressen. Logga in på det och anslut leverantören där.',
  'auth.account-disabled': 'Kontot är avstängt. Kontakta supporten.',
  'auth.identity-last':
    'Det är ditt enda sätt att logga in. Välj först ett lösenord eller lägg till en lösennyckel.',
  'auth.own-account': 'En annan administratör måste göra detta för ditt eget konto.',
  'auth.not-found': 'Detta finns inte.',
} satisfies Partial<Catalogue>
