import { useData } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h, onMounted } from 'vue'
import './style.css'

/** The sample of the first page: see pages.js. */
const Sample = {
  setup() {
    const { frontmatter } = useData()
    return () => h('div', { class: 'vp-doc home-sample', innerHTML: frontmatter.value.sample })
  },
}

/** Loads the index of the search when the pointer or the focus reaches its button, not when the box is open. */
function loadSearchEarly() {
  const load = async ({ target }) => {
    if (!target.closest?.('.DocSearch-Button')) return
    const { default: index } = await import('@localSearchIndex')
    index.root()
  }
  onMounted(() => {
    for (const event of ['pointerover', 'focusin']) document.addEventListener(event, load)
  })
}

export default {
  extends: DefaultTheme,
  setup: loadSearchEarly,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h(Sample) }),
}
