import { useData, useRoute, withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h, nextTick, onMounted, ref, watch } from 'vue'
import './style.css'

/** The sample of the first page: see pages.js. */
const Sample = {
  setup() {
    const { frontmatter } = useData()
    return () => h('div', { class: 'vp-doc home-sample', innerHTML: frontmatter.value.sample })
  },
}

/** What the package has, as a row of links on the first page. */
const Row = {
  setup() {
    const { frontmatter } = useData()
    const linkTo = ({ text, link }) => h('a', { href: withBase(link) }, text)
    return () =>
      h('nav', { class: 'home-row', 'aria-label': 'Features' }, frontmatter.value.row?.map(linkTo))
  },
}

const isSearching = ref(false)
const isLoaded = ref(false)

/** Loads the box of the search and its index: when nothing else is to do, or at the latest when somebody goes there. */
async function loadSearch() {
  try {
    const [{ default: index }] = await Promise.all([
      import('@localSearchIndex'),
      import('vitepress/dist/client/theme-default/components/VPLocalSearchBox.vue'),
    ])
    await index.root()
    isLoaded.value = true
  } catch (error) {
    isSearching.value = false
    console.error(error)
  }
}

function loadSearchEarly() {
  const isButton = ({ target }) => Boolean(target.closest?.('.DocSearch-Button'))
  const isKey = ({ key, ctrlKey, metaKey, target }) =>
    (key.toLowerCase() === 'k' && (ctrlKey || metaKey)) ||
    (key === '/' && !target.matches?.('input, textarea'))
  const whenIdle = () => {
    if (!navigator.connection?.saveData) (window.requestIdleCallback ?? setTimeout)(loadSearch)
  }
  onMounted(() => {
    for (const name of ['pointerover', 'focusin'])
      document.addEventListener(name, (event) => isButton(event) && loadSearch())
    for (const [name, isAsked] of [
      ['click', isButton],
      ['keydown', isKey],
    ]) {
      document.addEventListener(name, (event) => {
        if (!isAsked(event)) return
        isSearching.value = true
        void loadSearch()
      })
    }
    if (document.readyState === 'complete') whenIdle()
    else window.addEventListener('load', whenIdle)
  })
}

/** Says that the search loads, until it has its index. */
const Status = () =>
  h(
    'p',
    { class: 'search-status', role: 'status' },
    isSearching.value && !isLoaded.value ? 'Loading the search …' : '',
  )

/** Scrolls the sidebar to the entry of the page. */
function showPlace() {
  const route = useRoute()
  const scroll = async () => {
    // The group of the entry is opened first.
    await nextTick()
    requestAnimationFrame(() => {
      const sidebar = document.querySelector('.VPSidebar')
      const entry = sidebar?.querySelector('.VPSidebarItem.is-link.is-active')
      if (!entry) return
      const { top, bottom } = entry.getBoundingClientRect()
      const box = sidebar.getBoundingClientRect()
      const isShown = top > box.top + 64 && bottom < box.bottom
      if (!isShown) sidebar.scrollTop += top - box.top - box.height / 3
    })
  }
  onMounted(scroll)
  watch(() => route.path, scroll, { flush: 'post' })
}

export default {
  extends: DefaultTheme,
  setup() {
    loadSearchEarly()
    showPlace()
  },
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-image': () => h(Sample),
      'home-hero-after': () => h(Row),
      'layout-bottom': () => h(Status),
    }),
}
