import type { Catalogue } from '../types/messages.js'

export const he = {
  'auth.invalid-credentials': 'פרטי ההתחברות שגויים.',
  'auth.no-credentials-provided': 'כותרת האימות חסרה או אינה תקינה.',
  'auth.jwt-invalid': 'אסימון האימות שלך אינו תקין.',
  'auth.logged-out': 'נותקת מהמערכת.',
  'auth.jwt-not-valid-yet': 'אסימון האימות שלך טרם נכנס לתוקף.',
  'auth.jwt-expired': 'פג תוקפו של אסימון האימות שלך.',
  'auth.api-key-invalid': 'מפתח ה-API שלך אינו תקין.',
  'auth.api-key-expired': 'פג תוקפו של מפתח ה-API שלך.',
  'auth.api-key-not-accepted': 'נתיב זה אינו מקבל מפתחות API.',
  'auth.credentials-not-accepted': 'נתיב זה אינו מקבל פרטי התחברות אלה.',
  'auth.overloaded': 'השרת עמוס. נא לנסות שוב מאוחר יותר.',
  'auth.too-many-attempts': 'יותר מדי ניסיונות כושלים. נא לנסות שוב מאוחר יותר.',
  'auth.insufficient-scope': 'פרטי ההזדהות שלך אינם מאפשרים פעולה זו.',
  'auth.forbidden': 'אין לך הרשאה לעשות זאת.',
  'auth.cross-site': 'בקשות מאתרים אחרים אינן מתקבלות.',
  'auth.refresh-invalid': 'ההפעלה שלך הסתיימה. יש להתחבר מחדש.',
  'auth.refresh-reused': 'ההפעלה שלך הופסקה מטעמי אבטחה. יש להתחבר מחדש.',
} satisfies Partial<Catalogue>
