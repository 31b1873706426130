package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LayoutTest {
    @Test
    void layoutsHavePyTorchsNames() {
        assertThat(Layout.values()).extracting(Layout::toString).containsExactly("torch.strided", "torch.sparse_coo",
                "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc");
    }

    @Test
    void layoutsAreFoundByNameWithAndWithoutPrefix() {
        for (Layout layout : Layout.values()) {
            assertThat(Layout.find(layout.toString())).contains(layout);
        }
        assertThat(Layout.find("sparse_csr")).contains(Layout.SPARSE_CSR);
        assertThat(Layout.find("torch.jagged")).isEmpty();
        assertThat(Layout.find("SPARSE_CSR")).isEmpty();
    }

    @Test
    void fourLayoutsAreCompressed() {
        assertThat(Layout.values()).filteredOn(Layout::isCompressed).containsExactly(Layout.SPARSE_CSR,
                Layout.SPARSE_CSC, Layout.SPARSE_BSR, Layout.SPARSE_BSC);
        assertThat(Layout.values()).filteredOn(Layout::isBlocked).containsExactly(Layout.SPARSE_BSR, Layout.SPARSE_BSC);
        assertThat(Layout.values()).filteredOn(Layout::compressesRows).containsExactly(Layout.SPARSE_CSR,
                Layout.SPARSE_BSR);
    }
}
