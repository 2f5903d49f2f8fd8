import { useData } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import './style.css'

/** The sample of the first page: see pages.js. */
const Sample = {
  setup() {
    const { frontmatter } = useData()
    return () => h('div', { class: 'vp-doc home-sample', innerHTML: frontmatter.value.sample })
  },
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h(Sample) }),
}
