import type { Catalogue } from '../types/messages.js'

export const nb = {
  'auth.invalid-credentials': 'Ugyldig påloggingsinformasjon.',
  'auth.no-credentials-provided': 'Autentiseringsheaderen mangler eller er ugyldig.',
  'auth.jwt-invalid': 'Autentiseringstokenet ditt er ugyldig.',
  'auth.logged-out': 'Du er blitt logget ut.',
  'auth.jwt-not-valid-yet': 'Autentiseringstokenet ditt er ikke gyldig ennå.',
  'auth.jwt-expired': 'Autentiseringstokenet ditt er utløpt.',
  'auth.api-key-invalid': 'API-nøkkelen din er ugyldig.',
  'auth.api-key-expired': 'API-nøkkelen din er utløpt.',
  'auth.api-key-not-accepted': 'Denne ruten godtar ikke API-nøkler.',
  'auth.credentials-not-accepted': 'Denne ruten godtar ikke disse påloggingsopplysningene.',
  'auth.overloaded': 'Serveren er overbelastet. Prøv igjen senere.',
  'auth.too-many-attempts': 'For mange mislykkede forsøk. Prøv igjen senere.',
  'auth.insufficient-authentication': 'Bekreft at det er deg.',
  'auth.insufficient-scope': 'Legitimasjonen din tillater ikke denne handlingen.',
  'auth.forbidden': 'Du har ikke lov til å gjøre dette.',
  'auth.cross-site': 'Forespørsler fra andre nettsteder godtas ikke.',
  'auth.refresh-invalid': 'Økten din er over. Logg inn på nytt.',
  'auth.refresh-reused': 'Økten din ble avsluttet av sikkerhetshensyn. Logg inn på nytt.',
  'auth.account-exists':
    'Det finnes en konto med denne adressen. Logg inn på den, og koble til leverandøren der.',
  'auth.account-disabled': 'Denne kontoen er sperret. Kontakt brukerstøtte.',
  'auth.identity-last':
    'Dette er den eneste måten du kan logge inn på. Velg først et passord, eller legg til en passnøkkel.',
  'auth.own-account': 'En annen administrator må gjøre dette for din egen konto.',
  'auth.not-found': 'Dette finnes ikke.',
} satisfies Partial<Catalogue>
