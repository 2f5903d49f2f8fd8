import type { Catalogue } from '../types/messages.js'

export const hi = {
  'auth.invalid-credentials': 'लॉगिन क्रेडेंशियल अमान्य हैं।',
  'auth.no-credentials-provided': 'प्रमाणीकरण हेडर अमान्य है या मौजूद नहीं है।',
  'auth.jwt-invalid': 'आपका प्रमाणीकरण टोकन अमान्य है।',
  'auth.logged-out': 'आपको लॉग आउट कर दिया गया है।',
  'auth.jwt-not-valid-yet': 'आपका प्रमाणीकरण टोकन अभी तक मान्य नहीं हुआ है।',
  'auth.jwt-expired': 'आपके प्रमाणीकरण टोकन की अवधि समाप्त हो गई है।',
  'auth.api-key-invalid': 'आपकी API कुंजी अमान्य है।',
  'auth.api-key-expired': 'आपकी API कुंजी की अवधि समाप्त हो गई है।',
  'auth.api-key-not-accepted': 'यह रूट API कुंजियाँ स्वीकार नहीं करता।',
  'auth.credentials-not-accepted': 'यह रूट ये क्रेडेंशियल स्वीकार नहीं करता।',
  'auth.overloaded': 'सर्वर व्यस्त है। कृपया बाद में फिर से प्रयास करें।',
  'auth.too-many-attempts': 'बहुत अधिक असफल प्रयास हुए हैं। कृपया बाद में फिर से प्रयास करें।',
  'auth.insufficient-scope': 'आपके क्रेडेंशियल इस कार्य की अनुमति नहीं देते हैं।',
  'auth.forbidden': 'आपको यह करने की अनुमति नहीं है।',
  'auth.cross-site': 'अन्य साइटों से आए अनुरोध स्वीकार नहीं किए जाते।',
  'auth.refresh-invalid': 'आपका सत्र समाप्त हो गया है। कृपया फिर से लॉग इन करें।',
  'auth.refresh-reused': 'आपकी सुरक्षा के लिए आपका सत्र समाप्त कर दिया गया। कृपया फिर से लॉग इन करें।',
} satisfies Partial<Catalogue>
