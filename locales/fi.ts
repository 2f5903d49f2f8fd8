import type { Catalogue } from '../types/messages.js'

export const fi = {
  'auth.invalid-credentials': 'Virheelliset kirjautumistiedot.',
  'auth.no-credentials-provided': 'Todennusotsake puuttuu tai on virheellinen.',
  'auth.jwt-invalid': 'Todennustunnisteesi on virheellinen.',
  'auth.logged-out': 'Sinut on kirjattu ulos.',
  'auth.jwt-not-valid-yet': 'Todennustunnisteesi ei ole vielä voimassa.',
  'auth.jwt-expired': 'Todennustunnisteesi on vanhentunut.',
  'auth.api-key-invalid': 'API-avaimesi on virheellinen.',
  'auth.api-key-expired': 'API-avaimesi on vanhentunut.',
  'auth.api-key-not-accepted': 'Tämä osoite ei hyväksy API-avaimia.',
  'auth.credentials-not-accepted': 'Tämä osoite ei hyväksy näitä tunnistetietoja.',
  'auth.overloaded': 'Palvelin on ruuhkautunut. Yritä myöhemmin uudelleen.',
  'auth.too-many-attempts': 'Liian monta epäonnistunutta yritystä. Yritä myöhemmin uudelleen.',
  'auth.insufficient-scope': 'Tunnistetietosi eivät salli tätä toimintoa.',
  'auth.forbidden': 'Sinulla ei ole oikeutta tehdä tätä.',
  'auth.cross-site': 'Muilta sivustoilta tulevia pyyntöjä ei hyväksytä.',
  'auth.refresh-invalid': 'Istuntosi on päättynyt. Kirjaudu sisään uudelleen.',
  'auth.refresh-reused': 'Istuntosi päätettiin turvallisuussyistä. Kirjaudu sisään uudelleen.',
  'auth.account-exists':
    'Tällä osoitteella on jo tili. Kirjaudu siihen ja yhdistä palveluntarjoaja siellä.',
  'auth.account-disabled': 'Tämä tili on jäädytetty. Ota yhteyttä tukeen.',
  'auth.identity-last':
    'Tämä on ainoa tapasi kirjautua sisään. Aseta ensin salasana tai lisää avainkoodi.',
  'auth.own-account': 'Toisen ylläpitäjän on tehtävä tämä omalle tilillesi.',
  'auth.not-found': 'Tätä ei ole olemassa.',
} satisfies Partial<Catalogue>
