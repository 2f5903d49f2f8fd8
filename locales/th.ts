import type { Catalogue } from '../types/messages.js'

export const th = {
  'auth.invalid-credentials': 'ข้อมูลการเข้าสู่ระบบไม่ถูกต้อง',
  'auth.no-credentials-provided': 'ไม่พบส่วนหัวสำหรับการยืนยันตัวตน หรือส่วนหัวไม่ถูกต้อง',
  'auth.jwt-invalid': 'โทเค็นการยืนยันตัวตนของคุณไม่ถูกต้อง',
  'auth.logged-out': 'คุณถูกออกจากระบบแล้ว',
  'auth.jwt-not-valid-yet': 'โทเค็นการยืนยันตัวตนของคุณยังไม่ถึงเวลาที่ใช้งานได้',
  'auth.jwt-expired': 'โทเค็นการยืนยันตัวตนของคุณหมดอายุแล้ว',
  'auth.api-key-invalid': 'คีย์ API ของคุณไม่ถูกต้อง',
  'auth.api-key-expired': 'คีย์ API ของคุณหมดอายุแล้ว',
  'auth.api-key-not-accepted': 'เส้นทางนี้ไม่รับคีย์ API',
  'auth.credentials-not-accepted': 'เส้นทางนี้ไม่รับข้อมูลเข้าสู่ระบบนี้',
  'auth.overloaded': 'เซิร์ฟเวอร์ไม่ว่าง โปรดลองอีกครั้งในภายหลัง',
  'auth.too-many-attempts': 'พยายามเข้าสู่ระบบไม่สำเร็จหลายครั้งเกินไป โปรดลองอีกครั้งในภายหลัง',
  'auth.insufficient-scope': 'ข้อมูลประจำตัวของคุณไม่อนุญาตให้ดำเนินการนี้',
  'auth.forbidden': 'คุณไม่ได้รับอนุญาตให้ทำสิ่งนี้',
  'auth.cross-site': 'ไม่รับคำขอจากเว็บไซต์อื่น',
  'auth.refresh-invalid': 'เซสชันของคุณสิ้นสุดแล้ว โปรดเข้าสู่ระบบอีกครั้ง',
  'auth.refresh-reused': 'เซสชันของคุณถูกยุติเพื่อความปลอดภัย โปรดเข้าสู่ระบบอีกครั้ง',
} satisfies Partial<Catalogue>
