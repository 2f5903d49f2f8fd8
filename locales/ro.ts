import type { Catalogue } from '../types/messages.js'

export const ro = {
  'auth.invalid-credentials': 'Datele de autentificare sunt incorecte.',
  'auth.no-credentials-provided': 'Antetul de autentificare lipsește sau nu este valid.',
  'auth.jwt-invalid': 'Tokenul dumneavoastră de autentificare nu este valid.',
  'auth.logged-out': 'Ați fost deconectat.',
  'auth.jwt-not-valid-yet': 'Tokenul dumneavoastră de autentificare nu este încă valid.',
  'auth.jwt-expired': 'Tokenul dumneavoastră de autentificare a expirat.',
  'auth.api-key-invalid': 'Cheia dumneavoastră API nu este validă.',
  'auth.api-key-expired': 'Cheia dumneavoastră API a expirat.',
  'auth.api-key-not-accepted': 'Această rută nu acceptă chei API.',
  'auth.credentials-not-accepted': 'Această rută nu acceptă aceste date de autentificare.',
  'auth.overloaded': 'Serverul este suprasolicitat. Vă rugăm să încercați din nou mai târziu.',
  'auth.too-many-attempts':
    'Prea multe încercări eșuate. Vă rugăm să încercați din nou mai târziu.',
  'auth.insufficient-scope': 'Datele dumneavoastră de autentificare nu permit această acțiune.',
  'auth.forbidden': 'Nu aveți permisiunea de a face acest lucru.',
  'auth.cross-site': 'Cererile de pe alte site-uri nu sunt acceptate.',
  'auth.refresh-invalid':
    'Sesiunea dumneavoastră s-a încheiat. Vă rugăm să vă autentificați din nou.',
  'auth.refresh-reused':
    'Sesiunea a fost închisă din motive de securitate. Vă rugăm să vă autentificați din nou.',
  'auth.account-exists':
    'Există deja un cont cu această adresă. Autentificați-vă în el și conectați furnizorul acolo.',
  'auth.account-disabled': 'Acest cont este suspendat. Vă rugăm să contactați asistența.',
  'auth.identity-last':
    'Este singurul mod în care vă autentificați. Setați întâi o parolă sau adăugați o cheie de acces.',
  'auth.own-account': 'Alt administrator trebuie să facă acest lucru pentru contul dumneavoastră.',
  'auth.not-found': 'Acest element nu există.',
} satisfies Partial<Catalogue>
