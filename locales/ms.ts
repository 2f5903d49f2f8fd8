import type { Catalogue } from '../types/messages.js'

export const ms = {
  'auth.invalid-credentials': 'Bukti kelayakan tidak sah.',
  'auth.no-credentials-provided': 'Pengepala pengesahan tiada atau tidak sah.',
  'auth.jwt-invalid': 'Token pengesahan anda tidak sah.',
  'auth.logged-out': 'Anda telah dilog keluar.',
  'auth.jwt-not-valid-yet': 'Token pengesahan anda belum berkuat kuasa.',
  'auth.jwt-expired': 'Token pengesahan anda telah tamat tempoh.',
  'auth.api-key-invalid': 'Kunci API anda tidak sah.',
  'auth.api-key-expired': 'Kunci API anda telah tamat tempoh.',
  'auth.api-key-not-accepted': 'Laluan ini tidak menerima kunci API.',
  'auth.credentials-not-accepted': 'Laluan ini tidak menerima kelayakan ini.',
  'auth.overloaded': 'Pelayan sedang sibuk. Sila cuba lagi kemudian.',
  'auth.too-many-attempts': 'Terlalu banyak percubaan yang gagal. Sila cuba lagi kemudian.',
  'auth.insufficient-scope': 'Bukti kelayakan anda tidak membenarkan tindakan ini.',
  'auth.forbidden': 'Anda tidak dibenarkan melakukan ini.',
  'auth.cross-site': 'Permintaan daripada laman lain tidak diterima.',
  'auth.refresh-invalid': 'Sesi anda telah tamat. Sila log masuk semula.',
  'auth.refresh-reused': 'Sesi anda ditamatkan demi keselamatan anda. Sila log masuk semula.',
  'auth.account-exists':
    'Sudah ada akaun dengan alamat ini. Sila log masuk ke akaun itu dan sambungkan penyedia di sana.',
  'auth.account-disabled': 'Akaun ini digantung. Sila hubungi sokongan.',
  'auth.identity-last':
    'Ini satu-satunya cara anda log masuk. Sila tetapkan kata laluan atau tambah kunci laluan dahulu.',
  'auth.own-account': 'Pentadbir lain perlu melakukan ini untuk akaun anda sendiri.',
  'auth.not-found': 'Ini tidak wujud.',
} satisfies Partial<Catalogue>
