import type { Catalogue } from '../types/messages.js'

export const hu = {
  'auth.invalid-credentials': 'Hibás bejelentkezési adatok.',
  'auth.no-credentials-provided': 'Érvénytelen vagy hiányzó hitelesítési fejléc.',
  'auth.jwt-invalid': 'A hitelesítési token érvénytelen.',
  'auth.logged-out': 'Kijelentkeztettük Önt.',
  'auth.jwt-not-valid-yet': 'A hitelesítési token még nem érvényes.',
  'auth.jwt-expired': 'A hitelesítési token lejárt.',
  'auth.api-key-invalid': 'Az API-kulcs érvénytelen.',
  'auth.api-key-expired': 'Az API-kulcs lejárt.',
  'auth.api-key-not-accepted': 'Ez az útvonal nem fogad el API-kulcsokat.',
  'auth.credentials-not-accepted': 'Ez az útvonal nem fogadja el ezeket a hitelesítő adatokat.',
  'auth.overloaded': 'A kiszolgáló túlterhelt. Kérjük, próbálja újra később.',
  'auth.too-many-attempts': 'Túl sok sikertelen próbálkozás. Kérjük, próbálja újra később.',
  'auth.insufficient-scope': 'A hitelesítő adatai nem engedélyezik ezt a műveletet.',
  'auth.forbidden': 'Ehhez nincs jogosultsága.',
  'auth.cross-site': 'Más webhelyekről érkező kérések nem fogadhatók el.',
  'auth.refresh-invalid': 'A munkamenete véget ért. Kérjük, jelentkezzen be újra.',
  'auth.refresh-reused':
    'A munkamenetét biztonsági okokból lezártuk. Kérjük, jelentkezzen be újra.',
  'auth.account-exists':
    'Ezzel a címmel már van fiók. Kérjük, jelentkezzen be oda, és ott kapcsolja össze a szolgáltatóval.',
  'auth.account-disabled':
    'Ezt a fiókot felfüggesztették. Kérjük, forduljon az ügyfélszolgálathoz.',
  'auth.identity-last':
    'Csak így tud bejelentkezni. Kérjük, előbb állítson be jelszót, vagy adjon hozzá azonosítókulcsot.',
  'auth.own-account': 'A saját fiókja esetében ezt egy másik rendszergazdának kell elvégeznie.',
  'auth.not-found': 'Ez nem létezik.',
} satisfies Partial<Catalogue>
