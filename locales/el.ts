import type { Catalogue } from '../types/messages.js'

export const el = {
  'auth.invalid-credentials': 'Μη έγκυρα διαπιστευτήρια.',
  'auth.no-credentials-provided': 'Η κεφαλίδα ελέγχου ταυτότητας λείπει ή δεν είναι έγκυρη.',
  'auth.jwt-invalid': 'Το διακριτικό ελέγχου ταυτότητάς σας δεν είναι έγκυρο.',
  'auth.logged-out': 'Αποσυνδεθήκατε.',
  'auth.jwt-not-valid-yet': 'Το διακριτικό ελέγχου ταυτότητάς σας δεν είναι ακόμη έγκυρο.',
  'auth.jwt-expired': 'Το διακριτικό ελέγχου ταυτότητάς σας έχει λήξει.',
  'auth.api-key-invalid': 'Το κλειδί API σας δεν είναι έγκυρο.',
  'auth.api-key-expired': 'Το κλειδί API σας έχει λήξει.',
  'auth.api-key-not-accepted': 'Αυτή η διαδρομή δεν δέχεται κλειδιά API.',
  'auth.credentials-not-accepted': 'Αυτή η διαδρομή δεν δέχεται αυτά τα διαπιστευτήρια.',
  'auth.overloaded': 'Ο διακομιστής είναι απασχολημένος. Δοκιμάστε ξανά αργότερα.',
  'auth.too-many-attempts': 'Πάρα πολλές αποτυχημένες προσπάθειες. Δοκιμάστε ξανά αργότερα.',
  'auth.insufficient-scope': 'Τα διαπιστευτήριά σας δεν επιτρέπουν αυτήν την ενέργεια.',
  'auth.forbidden': 'Δεν έχετε δικαίωμα να το κάνετε αυτό.',
  'auth.cross-site': 'Δεν γίνονται δεκτά αιτήματα από άλλους ιστότοπους.',
  'auth.refresh-invalid': 'Η συνεδρία σας έληξε. Συνδεθείτε ξανά.',
  'auth.refresh-reused': 'Η συνεδρία σας τερματίστηκε για λόγους ασφαλείας. Συνδεθείτε ξανά.',
} satisfies Partial<Catalogue>
