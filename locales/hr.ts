import type { Catalogue } from '../types/messages.js'

export const hr = {
  'auth.invalid-credentials': 'Neispravni podaci za prijavu.',
  'auth.no-credentials-provided': 'Zaglavlje za autentifikaciju nedostaje ili nije valjano.',
  'auth.jwt-invalid': 'Vaš token za autentifikaciju nije valjan.',
  'auth.logged-out': 'Odjavljeni ste.',
  'auth.jwt-not-valid-yet': 'Vaš token za autentifikaciju još nije valjan.',
  'auth.jwt-expired': 'Vaš token za autentifikaciju je istekao.',
  'auth.api-key-invalid': 'Vaš API ključ nije valjan.',
  'auth.api-key-expired': 'Vaš API ključ je istekao.',
  'auth.api-key-not-accepted': 'Ova ruta ne prihvaća API ključeve.',
  'auth.credentials-not-accepted': 'Ova ruta ne prihvaća ove podatke za prijavu.',
  'auth.overloaded': 'Poslužitelj je preopterećen. Pokušajte ponovno kasnije.',
  'auth.too-many-attempts': 'Previše neuspjelih pokušaja. Pokušajte ponovno kasnije.',
  'auth.insufficient-scope': 'Vaše vjerodajnice ne dopuštaju ovu radnju.',
  'auth.forbidden': 'Nemate ovlasti za ovu radnju.',
  'auth.cross-site': 'Zahtjevi s drugih web-mjesta ne prihvaćaju se.',
  'auth.refresh-invalid': 'Vaša sesija je završila. Prijavite se ponovno.',
  'auth.refresh-reused': 'Vaša sesija prekinuta je radi vaše sigurnosti. Prijavite se ponovno.',
  'auth.account-exists':
    'Račun s ovom adresom već postoji. Prijavite se na njega i ondje povežite davatelja usluge.',
  'auth.account-disabled': 'Ovaj je račun suspendiran. Obratite se podršci.',
  'auth.identity-last':
    'Ovo je vaš jedini način prijave. Najprije postavite lozinku ili dodajte pristupni ključ.',
  'auth.own-account': 'Za vaš vlastiti račun to mora učiniti drugi administrator.',
  'auth.not-found': 'Ovo ne postoji.',
} satisfies Partial<Catalogue>
