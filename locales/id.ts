import type { Catalogue } from '../types/messages.js'

export const id = {
  'auth.invalid-credentials': 'Kredensial tidak valid.',
  'auth.no-credentials-provided': 'Header autentikasi tidak valid atau tidak ada.',
  'auth.jwt-invalid': 'Token autentikasi Anda tidak valid.',
  'auth.logged-out': 'Sesi Anda telah diakhiri.',
  'auth.jwt-not-valid-yet': 'Token autentikasi Anda belum berlaku.',
  'auth.jwt-expired': 'Token autentikasi Anda sudah kedaluwarsa.',
  'auth.api-key-invalid': 'Kunci API Anda tidak valid.',
  'auth.api-key-expired': 'Kunci API Anda sudah kedaluwarsa.',
  'auth.api-key-not-accepted': 'Rute ini tidak menerima kunci API.',
  'auth.credentials-not-accepted': 'Rute ini tidak menerima kredensial ini.',
  'auth.overloaded': 'Server sedang sibuk. Silakan coba lagi nanti.',
  'auth.too-many-attempts': 'Terlalu banyak percobaan yang gagal. Silakan coba lagi nanti.',
  'auth.insufficient-scope': 'Kredensial Anda tidak mengizinkan tindakan ini.',
  'auth.forbidden': 'Anda tidak diizinkan melakukan ini.',
  'auth.cross-site': 'Permintaan dari situs lain tidak diterima.',
  'auth.refresh-invalid': 'Sesi Anda telah berakhir. Silakan masuk kembali.',
  'auth.refresh-reused': 'Sesi Anda diakhiri demi keamanan Anda. Silakan masuk kembali.',
  'auth.account-exists':
    'Sudah ada akun dengan alamat ini. Silakan masuk ke akun itu dan hubungkan penyedianya di sana.',
  'auth.account-disabled': 'Akun ini ditangguhkan. Silakan hubungi dukungan.',
  'auth.identity-last':
    'Ini satu-satunya cara Anda untuk masuk. Silakan buat kata sandi atau tambahkan kunci sandi dahulu.',
  'auth.own-account': 'Admin lain harus melakukan ini untuk akun Anda sendiri.',
  'auth.not-found': 'Ini tidak ada.',
} satisfies Partial<Catalogue>
